import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFailed, test } from "vitest";
import { STALL_TIMEOUT_MS } from "../../src/control-plane/api/stream-limiter.ts";
import { prepareDataDir } from "../../src/control-plane/data/data-dir.ts";
import { apiClient } from "../support/api-client.ts";
import { captureLogText } from "../support/captured-log.ts";
import { startControlPlane } from "../support/control-plane.ts";
import { openStream } from "../support/event-stream.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { type Asset, ControlProcess } from "../support/system/control.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

const STREAMS = 200;
const DEPLOYMENTS = 5;
const EVENTS = 240;
const EVENT_BYTES = 30_000;
/** One mebibyte for each stream; without a bound, 200 of these streams took 1,861 MB. */
const MAX_GROWTH_MB = STREAMS;
/** In the future, so that retention does not remove the deployments. */
const FINISHED_AT_MS = 4_000_000_000_000;
const CUT = "a client does not read; its stream is cut";

/** Stores deployments whose events exceed what unread connections buffer. */
function writeHistory(database: string, accountId: string, assetUuid: string): string[] {
  using file = new DatabaseSync(database);
  const deployment = file.prepare(
    `INSERT INTO deployments (id, account_id, asset_uuid, app, spec, status, created_at_ms, deadline_at_ms,
       finished_at_ms, last_seq) VALUES (?, ?, ?, 'web', '{}', 'Success', 1, 2, ?, ?)`,
  );
  const event = file.prepare("INSERT INTO deployment_events (deployment_id, seq, event) VALUES (?, ?, ?)");
  const ids = Array.from({ length: DEPLOYMENTS }, (_, index) => `dep_${index}`);
  file.exec("BEGIN IMMEDIATE");
  for (const id of ids) {
    deployment.run(id, accountId, assetUuid, FINISHED_AT_MS, EVENTS);
    for (let seq = 1; seq <= EVENTS; seq++) {
      const status = seq === EVENTS ? "Success" : "Running";
      const text = { deployment_id: id, seq, timestamp: 1, status, message: "x", step: "done" };
      event.run(id, seq, JSON.stringify({ ...text, details: { log: "x".repeat(EVENT_BYTES) } }));
    }
  }
  file.exec("COMMIT");
  return ids;
}

/** Opens a stream, reads its first bytes and then stops reading. */
function openUnread(port: number, path: string, apiKey: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${apiKey}\r\n\r\n`);
    });
    socket.once("data", () => {
      socket.pause();
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

async function residentMegabytes(pid: number): Promise<number> {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

/** Maximum memory, measured until it stops growing. */
async function settledMegabytes(pid: number): Promise<number> {
  let most = 0;
  let looks = 0;
  await waitFor(
    "memory to stop growing",
    async () => {
      const now = await residentMegabytes(pid);
      looks = now > most + 1 ? 0 : looks + 1;
      most = Math.max(most, now);
      return looks > 10;
    },
    { intervalMs: 200 },
  );
  return most;
}

const eventsPath = ({ uuid }: Pick<Asset, "uuid">, id: string): string =>
  `/v1/assets/${uuid}/edge/deployments/${id}/events`;

test("200 unread streams cost the server little memory, and other clients are served", async () => {
  await using directory = await tempDir();
  await using control = new ControlProcess(directory.path, []);
  onTestFailed(() => console.log(control.tail()));
  await control.start();
  const account = await control.createAccount("attacker");
  const asset = await control.addAsset(account.accountId, "GW-1");
  const ids = writeHistory(prepareDataDir(control.dataDir).database, account.accountId, asset.uuid);
  // A client that reads gets every event, however they are batched.
  const read = await openStream(control.url + eventsPath(asset, ids[0] ?? ""), { apiKey: account.apiKey });
  expect(await read.ended).toBe(true);
  expect(read.events.map(({ seq }) => seq)).toEqual(Array.from({ length: EVENTS }, (_, index) => index + 1));
  const before = await residentMegabytes(control.pid);

  const opening = Array.from({ length: STREAMS }, (_, index) =>
    openUnread(control.port, eventsPath(asset, ids[index % DEPLOYMENTS] ?? ""), account.apiKey),
  );
  const sockets = await Promise.all(opening);
  const other = await control.createAccount("somebody else");
  const growth = (await settledMegabytes(control.pid)) - before;
  const answer = await apiClient(control, other).get("/v1/assets");
  for (const socket of sockets) socket.destroy();

  expect(answer.status).toBe(200);
  expect(Math.round(growth)).toBeLessThan(MAX_GROWTH_MB);
});

test("a stream not read for two minutes is cut and logged with a count, and the client can resume it", async () => {
  const clock = new FakeClock();
  const log = captureLogText();
  await using control = await startControlPlane({ clock, logger: log.logger });
  const account = await control.account();
  const { uuid } = await control.asset(account);
  const [id = ""] = writeHistory(control.databasePath, account.accountId, uuid);
  const socket = await openUnread(control.server.port, eventsPath({ uuid }, id), account.apiKey);
  const cut = new Promise((resolve) => {
    socket.once("close", resolve);
    socket.on("error", () => {});
  });

  await waitFor("the cut", async () => {
    await clock.advance(STALL_TIMEOUT_MS);
    return log.text().includes(CUT);
  });
  socket.resume();
  await cut;

  const line = log
    .text()
    .split("\n")
    .find((text) => text.includes(CUT));
  expect(JSON.parse(line ?? "")).toMatchObject({ account_id: account.accountId, key_id: account.keyId, count: 1 });
  using rest = await openStream(`${control.url}${eventsPath({ uuid }, id)}?after=100`, { apiKey: account.apiKey });
  expect(await rest.ended).toBe(true);
  expect(rest.events[0]?.seq).toBe(101);
});

test("streams are limited for each deployment and account, and a refused stream creates no deployment", async () => {
  await using control = await startControlPlane({ config: { max_streams_per_account: 60 } });
  const account = await control.account();
  const asset = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  const apps = `${control.url}/v1/assets/${asset.uuid}/edge/apps`;
  const deploy = (name: string) => openStream(apps, { apiKey: account.apiKey, body: { name, image: "web:1" } });
  using first = await deploy("first");
  await first.event("the first event", ({ status }) => status === "Running");
  const again = () => openStream(control.url + eventsPath(asset, first.deploymentId), { apiKey: account.apiKey });
  using streams = new DisposableStack();

  for (let count = 1; count < 50; count++) streams.use(await again());
  using tooMany = await again();
  expect(tooMany.status).toBe(429);
  expect(Number(tooMany.headers["retry-after"])).toBeGreaterThan(0);
  await waitFor("the refusal", () => tooMany.text.includes('"code":"TooManyRequests"'));

  for (let count = 50; count < 60; count++) streams.use(await deploy(`app-${count}`));
  using refused = await deploy("refused");
  expect(refused.status).toBe(429);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
  expect(refused.events).toMatchObject([{ status: "Fail", code: "TooManyRequests", deployment_id: "" }]);
  const list = await apiClient(control, account).get(`/v1/assets/${asset.uuid}/edge/deployments?limit=200`);
  expect(JSON.stringify(list.body)).not.toContain('"refused"');

  const neighbour = await control.account();
  const theirs = await control.asset(neighbour);
  using unaffected = await openStream(`${control.url}/v1/assets/${theirs.uuid}/edge/apps`, {
    apiKey: neighbour.apiKey,
    body: { name: "web", image: "web:1" },
  });
  expect(unaffected.status).toBe(200);

  streams[Symbol.dispose]();
  device.success(first.deploymentId);
  expect(await first.ended).toBe(true);
  await waitFor("room", async () => {
    using accepted = await deploy("accepted");
    return accepted.status === 200;
  });
});
