import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { OtlpExport } from "../../../src/control-plane/config/otlp-config.ts";
import {
  MAX_OTLP_ASSETS,
  OTLP_TIMEOUT_MS,
  OtlpExporter,
  parseHeaders,
} from "../../../src/control-plane/otlp/otlp-exporter.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { HealthRow } from "../../../src/protocol/link/health-points.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { createAsset, startControlPlane } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { captureLog } from "../../support/link/log-capture.ts";
import { OtlpReceiver } from "../../support/monitoring/otlp-receiver.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const ACCOUNT = { accountId: "acc_1", keyId: "", apiKey: "" };
const QUARTER = 900;
const SECRET = "Bearer not-to-be-logged";

async function receiver(): Promise<OtlpReceiver> {
  const started = await OtlpReceiver.start();
  onTestFinished(() => {
    started[Symbol.dispose]();
    expect(started.problems).toEqual([]);
  });
  return started;
}

/** Writes a file of headers. */
async function headersFile(text: string): Promise<string> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const path = join(directory.path, "headers");
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

const row = (at: number, percent: number): HealthRow => ({
  at,
  spreads: { cpu_percent: [percent, percent, percent], temperature_celsius: [40, 48, 60] },
});

test("the service sends what devices measure, by the names of OpenTelemetry", async () => {
  const other = await receiver();
  const clock = new FakeClock();
  const path = await headersFile(`Authorization: ${SECRET}\nX-Scope-OrgID: north\n`);
  const settings = {
    endpoint: other.url,
    headers_file: path,
    interval_s: 60,
    selector: "site=north",
    allow_private: true,
  };
  await using control = await startControlPlane({ clock, config: { otlp_exports: { [ACCOUNT.accountId]: settings } } });
  const { store } = control;
  await store.accounts.createAccount({ id: ACCOUNT.accountId, name: "Water works", createdAt: 0 });
  const north = await control.asset(ACCOUNT, { name: "Pump \uD800 house", serialNumber: "GW-1" });
  await control.asset(ACCOUNT, { serialNumber: "GW-2" });
  const tags = new Map([["site", "north"]]);
  await store.assetSettings.changeTags(north.uuid, tags, false, someAudit("asset.tagged"));
  await using _device = await FakeDevice.connect(control.agentUrl, north.deviceToken, { agentVersion: "1.2.3" });
  const at = Math.floor(clock.now() / 1000 / QUARTER) * QUARTER - QUARTER;
  await store.health.addRows(north.uuid, [row(at, 5)]);

  // The exporter's first round may have come in the midst of this.
  const first = await waitFor("what the device has measured", async () => {
    await clock.advance(60_000);
    return other.requests.find(({ devices }) => "system.cpu.utilization" in (devices[0]?.metrics ?? {}));
  });
  expect(first).toMatchObject({
    path: "/v1/metrics",
    headers: { authorization: SECRET, "x-scope-orgid": "north" },
    devices: [
      {
        resource: {
          "service.name": "edge-agent",
          "service.instance.id": north.uuid,
          "service.version": "1.2.3",
          "host.id": "GW-1",
          "host.name": "Pump \uFFFD house",
          "host.type": "gateway",
        },
        metrics: {
          "edge.device.connected": { value: 1, unit: "1" },
          "system.cpu.utilization": { value: 0.05, unit: "1", at: at + QUARTER },
          "hw.temperature": { value: 48, unit: "Cel", at: at + QUARTER },
        },
      },
    ],
  });
  expect(first.devices[0]?.metrics).not.toHaveProperty("system.memory.utilization");
});

/** The exporter on a store with so many assets, each of which has measured something. */
async function exportOf(count: number, settings: Partial<OtlpExport> & Pick<OtlpExport, "endpoint">) {
  const clock = new FakeClock();
  const store: Store = openStore(":memory:");
  await store.accounts.createAccount({ id: ACCOUNT.accountId, name: "Water works", createdAt: 0 });
  const at = Math.floor(clock.now() / 1000 / QUARTER) * QUARTER - QUARTER;
  const uuids: string[] = [];
  for (let index = 0; index < count; index++) {
    const { uuid } = await createAsset(store, clock, ACCOUNT);
    await store.health.addRows(uuid, [row(at, 5)]);
    uuids.push(uuid);
  }
  const { logger, lines } = captureLog();
  const exporter = new OtlpExporter({
    store,
    accountId: ACCOUNT.accountId,
    settings: { interval_s: 60, selector: "*", allow_private: true, ...settings },
    clock,
    logger,
    instanceId: "ins_1",
  });
  onTestFinished(async () => {
    await exporter[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });
  /** Waits until the exporter sleeps, which it does for longer than it waits for an answer. */
  const rest = () => waitFor("the round to end", () => (clock.untilNext ?? 0) > OTLP_TIMEOUT_MS);
  const nextRound = async (): Promise<void> => {
    await rest();
    await clock.advance(clock.untilNext ?? 0);
    await rest();
  };
  await rest();
  return { clock, lines, nextRound, store, uuids, at };
}

const measured = ({ requests }: OtlpReceiver, from: number) =>
  requests
    .slice(from)
    .flatMap(({ devices }) => devices)
    .filter(({ metrics }) => "system.cpu.utilization" in metrics)
    .map(({ resource }) => resource["host.id"]);

test("a row is sent once, and whether a device is connected each time", async () => {
  const other = await receiver();
  const { nextRound, store, uuids, at } = await exportOf(1, { endpoint: other.url });
  await nextRound();
  await store.health.addRows(uuids[0] ?? "", [row(at + QUARTER, 50)]);
  await nextRound();
  const metrics = other.requests.map(({ devices }) => devices[0]?.metrics ?? {});
  expect(metrics.map((each) => each["system.cpu.utilization"])).toEqual([
    { value: 0.05, unit: "1", at: at + QUARTER },
    undefined,
    { value: 0.5, unit: "1", at: at + 2 * QUARTER },
  ]);
  expect(metrics.map((each) => each["edge.device.connected"]?.value)).toEqual([0, 0, 0]);
});

test("many devices go in bounded requests, and what was not taken is sent again, without what was", async () => {
  const other = await receiver();
  other.answer = () => ({ status: other.requests.length === 2 ? 503 : 200 });
  const { lines, nextRound } = await exportOf(2 * MAX_OTLP_ASSETS + 1, { endpoint: other.url });
  expect(other.requests.map(({ devices }) => devices.length)).toEqual([MAX_OTLP_ASSETS, MAX_OTLP_ASSETS]);
  const taken = measured(other, 0).slice(0, MAX_OTLP_ASSETS);
  await nextRound();
  expect(other.requests).toHaveLength(5);
  const again = measured(other, 2);
  expect(again).toHaveLength(MAX_OTLP_ASSETS + 1);
  expect(new Set([...taken, ...again]).size).toBe(2 * MAX_OTLP_ASSETS + 1);
  expect(lines.map(({ msg }) => msg)).toEqual([
    "metrics of devices are not taken; those of the next round are sent again",
    "metrics of devices are taken again",
  ]);
});

test("a pause that is asked for is kept, and points that are rejected are logged once, without secrets", async () => {
  const other = await receiver();
  other.answer = () => ({ status: 429, headers: { "Retry-After": "600" } });
  const headers = await headersFile(`Authorization: ${SECRET}\r\n`);
  const { clock, lines, nextRound } = await exportOf(1, { endpoint: other.url, headers_file: headers });
  expect(clock.untilNext).toBe(600_000);
  other.answer = () => ({
    status: 200,
    body: '{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}',
  });
  await nextRound();
  expect(clock.untilNext).toBe(60_000);
  await nextRound();
  expect(other.requests).toHaveLength(3);
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
});

test("an account is told that its metrics are not taken, since when, and nothing more once they are", async () => {
  const other = await receiver();
  other.answer = () => ({ status: 503 });
  const { clock, nextRound, store } = await exportOf(1, { endpoint: other.url });
  const told = async () =>
    (await store.alerts.observeOthers(ACCOUNT.accountId, clock.now())).map(({ condition, subject, sinceMs }) => [
      condition,
      subject.name,
      sinceMs,
    ]);
  const failing = [["export_failing", "OTLP", clock.now()]];
  expect(await told()).toEqual(failing);
  await nextRound();
  expect(await told()).toEqual(failing);
  other.answer = () => ({ status: 200 });
  await nextRound();
  expect(await told()).toEqual([]);
});

test("an inner address gets nothing, nor does any if the headers cannot be read", async () => {
  const other = await receiver();
  const inner = await exportOf(1, { endpoint: other.url, allow_private: false });
  const bad = await exportOf(1, { endpoint: other.url, headers_file: await headersFile("Bearer only") });
  expect(inner.lines[0]).toMatchObject({ answer: expect.stringMatching(/without TLS/) as string });
  expect(bad.lines[0]).toMatchObject({ msg: expect.stringMatching(/^the headers of an export/) as string });
  expect(JSON.stringify(bad.lines)).not.toContain("Bearer only");
  expect(other.requests).toEqual([]);
});

test("headers are lines with a name, a colon and a value", () => {
  expect(parseHeaders("Authorization: Bearer a:b\n\nX-Org:7\r\n")).toEqual({
    Authorization: "Bearer a:b",
    "X-Org": "7",
  });
  for (const text of ["no colon", "A B: c", "A: \u0000", "A: ä", `A: ${"x".repeat(20_000)}`])
    expect(parseHeaders(text)).toBeUndefined();
  expect(parseHeaders("")).toEqual({});
});
