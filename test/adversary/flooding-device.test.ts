import { stat } from "node:fs/promises";
import { expect, onTestFailed, test } from "vitest";
import { prepareDataDir } from "../../src/control-plane/data/data-dir.ts";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import { MAX_FRAME_BYTES } from "../../src/protocol/limits.ts";
import { apiClient } from "../support/api-client.ts";
import { openStream } from "../support/event-stream.ts";
import { startControlPlane } from "../support/control-plane.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { ControlProcess } from "../support/system/control.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const FLOOD = 2_000;
/** Three bytes each in UTF-8: the maximum of one event. */
const DETAILS_CHARACTERS = 10_000;
const SENT_FRAMES = 8;
/** Frames that arrive before the first of them is charged: one that is handled, and those that may wait for it. */
const MAX_AHEAD_BYTES = 4 * MAX_FRAME_BYTES;
/** Maximum of one deployment, up to twice that in the write-ahead log, and a margin. */
const MAX_STORED_BYTES = 24 * 1024 * 1024;

async function storedBytes(database: string): Promise<number> {
  const sizes = await Promise.all([database, `${database}-wal`].map((path) => stat(path).then(({ size }) => size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

test("a device that floods its deployment neither fills the disk nor delays others, and the deployment ends once", async () => {
  await using directory = await tempDir();
  await using control = new ControlProcess(directory.path, ["--deployment-timeout-s", "8"]);
  onTestFailed(() => console.log(control.tail()));
  await control.start();
  const account = await control.createAccount("attacker");
  const asset = await control.addAsset(account.accountId, "GW-1");
  const other = await control.createAccount("somebody else");
  const theirs = apiClient(control, other);
  const { database } = prepareDataDir(control.dataDir);
  await using device = await FakeDevice.connect(`ws://127.0.0.1:${control.port}/v1/agent`, asset.deviceToken);
  const before = await storedBytes(database);
  using stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  const { deployment_id: id } = await device.next("deploy");

  const log = "€".repeat(DETAILS_CHARACTERS);
  for (let count = 0; count < FLOOD; count++) device.event(id, { step: "pulling", details: { log } });
  let answered = 0;
  const over = new AbortController();
  void stream.ended.then(() => over.abort());
  while (!over.signal.aborted) {
    expect((await fetch(`${control.url}/healthz`)).status).toBe(200);
    expect((await theirs.get("/v1/assets")).status).toBe(200);
    answered++;
  }

  // No bound on the duration, since the machine may be busy: each request got a response during the flood.
  expect(answered).toBeGreaterThan(3);
  expect(stream.events.filter(isFinal)).toMatchObject([{ status: "Fail", code: "DeploymentTimeout" }]);
  expect(stream.events.at(-1)).toMatchObject({ code: "DeploymentTimeout" });
  expect(stream.events.map(({ seq }) => seq)).toEqual(stream.events.map((_, index) => index + 1));
  expect((await storedBytes(database)) - before).toBeLessThan(MAX_STORED_BYTES);
});

test("a reconnect gives a device no new burst", async () => {
  await using directory = await tempDir();
  await using control = new ControlProcess(directory.path, ["--deployment-timeout-s", "6"]);
  onTestFailed(() => console.log(control.tail()));
  await control.start();
  const account = await control.createAccount("attacker");
  const asset = await control.addAsset(account.accountId, "GW-1");
  const agentUrl = `ws://127.0.0.1:${control.port}/v1/agent`;
  let device = await FakeDevice.connect(agentUrl, asset.deviceToken);
  using stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  const { deployment_id: id } = await device.next("deploy");
  const over = new AbortController();
  void stream.ended.then(() => over.abort());
  const began = performance.now();
  let seq = 0;
  while (!over.signal.aborted) {
    for (let count = 0; count < 400; count++) device.event(id, { device_seq: ++seq });
    await device.flushed();
    await device[Symbol.asyncDispose]();
    device = await FakeDevice.connect(agentUrl, asset.deviceToken, { held: [id] });
  }
  await device[Symbol.asyncDispose]();
  const seconds = (performance.now() - began) / 1000;
  const taken = stream.events.filter(({ message }) => message === "Working.").length;
  // A burst, then the rate per second, with a margin for frames in flight.
  expect(taken).toBeLessThan(500 + 50 * (seconds + 5));
});

const MIB = MAX_FRAME_BYTES;
const app = { name: "web", image: "web:1", image_digest: null, state: "running", desired_state: "running" };
const spec = Object.fromEntries(Array.from({ length: 45_000 }, (_, index) => [`k${index}`, "a value"]));
const reported = { ...app, since: null, restarts: 0, spec, last_deployment: null };
const filler = "x".repeat(MIB - 200);

test.each<[what: string, frame: string | Buffer]>([
  ["binary", Buffer.alloc(MIB)],
  ["no JSON", "x".repeat(MIB)],
  ["an unknown type", JSON.stringify({ type: "newer", filler })],
  ["answers", JSON.stringify({ type: "answer", query_id: "q", body: filler })],
  ["ends of queries", JSON.stringify({ type: "query_end", query_id: "q", message: filler })],
  ["events", JSON.stringify({ type: "event", deployment_id: "dep_none", event: { message: filler } })],
  ["reports", JSON.stringify({ type: "report", base: null, hash: "0".repeat(64), apps: [reported], removed_apps: [] })],
])(
  "the service reads no more of a device than its rate, of whatever frames, also over reconnects: %s",
  async (_what, frame) => {
    const clock = new FakeClock();
    await using control = await startControlPlane({ clock, config: { metrics_listen: "127.0.0.1:0" } });
    const { deviceToken } = await control.asset(await control.account());
    const receivedBytes = async (): Promise<number> => {
      const text = await (await fetch(control.metricsUrl)).text();
      return Number(/^edge_control_device_bytes_total\{direction="in"\} (\d+)/m.exec(text)?.[1]);
    };
    /** Without time passing, however often the service has a turn. */
    const settled = async (): Promise<number> => {
      for (let turn = 0; turn < 50; turn++) await fetch(`${control.url}/healthz`);
      return receivedBytes();
    };
    await using first = await FakeDevice.connect(control.agentUrl, deviceToken);
    for (let count = 0; count < SENT_FRAMES; count++) first.send(frame);
    await waitFor("the first frame", async () => (await receivedBytes()) >= frame.length);
    expect(await settled()).toBeLessThanOrEqual(MAX_AHEAD_BYTES);
    await first.cut();

    const before = await receivedBytes();
    await using second = await FakeDevice.open(control.agentUrl, deviceToken);
    for (let count = 0; count < SENT_FRAMES; count++) second.send(frame);
    // What came with the request for the connection, at most.
    expect((await settled()) - before).toBeLessThan(MIB);
  },
);

test("a hello counts against the rate limit by its number of deployments", async () => {
  await using directory = await tempDir();
  await using control = new ControlProcess(directory.path, []);
  onTestFailed(() => console.log(control.tail()));
  await control.start();
  const { accountId } = await control.createAccount("attacker");
  const { deviceToken } = await control.addAsset(accountId, "GW-1");
  const held = Array.from({ length: 350 }, (_, index) => `dep_${index}`);
  const began = performance.now();
  for (let connection = 0; connection < 2; connection++) {
    await using device = await FakeDevice.connect(`ws://127.0.0.1:${control.port}/v1/agent`, deviceToken, { held });
    await device.cut();
  }
  // 702 of them: a burst of 500, then 50 per second.
  expect(performance.now() - began).toBeGreaterThan(4_000);
});
