import { stat } from "node:fs/promises";
import { expect, onTestFailed, test } from "vitest";
import { prepareDataDir } from "../../src/control-plane/data/data-dir.ts";
import { isFinal } from "../../src/protocol/deployment-event.ts";
import { CLOSE_CODES } from "../../src/protocol/frames.ts";
import { MAX_FRAME_BYTES } from "../../src/protocol/limits.ts";
import { apiClient } from "../support/api-client.ts";
import { openStream } from "../support/event-stream.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { ControlProcess } from "../support/system/control.ts";
import { tempDir } from "../support/temp-dir.ts";

const FLOOD = 2_000;
/** Of three bytes each in UTF-8: as much as one event may hold. */
const DETAILS_CHARACTERS = 10_000;
/** What one deployment may store, what the log before the database may hold twice of it, and room. */
const MOST_STORED_BYTES = 24 * 1024 * 1024;

async function storedBytes(database: string): Promise<number> {
  const sizes = await Promise.all([database, `${database}-wal`].map((path) => stat(path).then(({ size }) => size)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

test("a device that floods its deployment fills no disk, holds nobody up, and the deployment ends once", async () => {
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

  // No more is asked for of a machine that may be busy: each of them was answered while the device flooded.
  expect(answered).toBeGreaterThan(3);
  expect(stream.events.filter(isFinal)).toMatchObject([{ status: "Fail", code: "DeploymentTimeout" }]);
  expect(stream.events.at(-1)).toMatchObject({ code: "DeploymentTimeout" });
  expect(stream.events.map(({ seq }) => seq)).toEqual(stream.events.map((_, index) => index + 1));
  expect((await storedBytes(database)) - before).toBeLessThan(MOST_STORED_BYTES);
});

test("connecting again gives a device no new burst", async () => {
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
  // A burst and so many a second after that, with room for what is in flight.
  expect(taken).toBeLessThan(500 + 50 * (seconds + 5));
});

test.each([
  ["binary", Buffer.alloc(MAX_FRAME_BYTES)],
  ["no JSON", "x".repeat(MAX_FRAME_BYTES)],
])("frames that are refused are paced as all others, also over reconnects: %s", async (_what, frame) => {
  await using directory = await tempDir();
  await using control = new ControlProcess(directory.path, []);
  onTestFailed(() => console.log(control.tail()));
  await control.start();
  const { accountId } = await control.createAccount("attacker");
  const { deviceToken } = await control.addAsset(accountId, "GW-1");
  const began = performance.now();
  for (let connection = 0; connection < 2; connection++) {
    await using device = await FakeDevice.connect(`ws://127.0.0.1:${control.port}/v1/agent`, deviceToken);
    for (let count = 0; count < 21; count++) device.send(frame);
    expect(await device.closed).toBe(CLOSE_CODES.badFrame);
  }
  // 42 MiB: 16 at once, and 4 a second after that.
  expect(performance.now() - began).toBeGreaterThan(6_000);
});

test("connecting with many deployments costs as much as so many frames about them", async () => {
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
  // 702 of them: 500 at once, and 50 a second after that.
  expect(performance.now() - began).toBeGreaterThan(4_000);
});
