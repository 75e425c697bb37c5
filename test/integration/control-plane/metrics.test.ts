import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { STORE_FIGURES_MS } from "../../../src/control-plane/metrics/collected.ts";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { parseExposition, type Sample, sumOf } from "../../support/monitoring/exposition.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
let api: ApiClient;

beforeEach(async () => {
  clock = new FakeClock();
  control = await startControlPlane({
    clock,
    config: { metrics_listen: "127.0.0.1:0", rate_limit_per_minute: 25, max_assets_per_account: 1 },
  });
  account = await control.account();
  asset = await control.asset(account);
  api = apiClient(control, account);
});
afterEach(() => control[Symbol.asyncDispose]());

const scrape = async (): Promise<Sample[]> => parseExposition(await (await fetch(control.metricsUrl)).text());

const value = async (name: string, labels?: Record<string, string>): Promise<number | undefined> =>
  sumOf(await scrape(), name, labels);

const deploy = (name: string) =>
  openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name, image: "marked-image:1" },
  });

const online = (): Promise<FakeDevice> => FakeDevice.connect(control.agentUrl, asset.deviceToken);

test("devices, deployments and their latencies are counted", async () => {
  {
    await using device = await online();
    expect(await value("edge_control_devices_connected")).toBe(1);
    using stream = await deploy("web");
    const { deployment_id: id } = await device.next("deploy");
    expect(await value("edge_control_event_streams_open")).toBe(1);
    device.event(id, {});
    device.success(id);
    await stream.ended;
    const samples = await scrape();
    expect(sumOf(samples, "edge_control_deployments_received_total", { action: "deploy" })).toBe(1);
    expect(sumOf(samples, "edge_control_deployments_ended_total", { status: "Success", code: "none" })).toBe(1);
    expect(sumOf(samples, "edge_control_deployments_ended_total")).toBe(1);
    expect(sumOf(samples, "edge_control_deployment_duration_seconds_count", { action: "deploy" })).toBe(1);
    expect(sumOf(samples, "edge_control_deployment_acknowledgement_seconds_count")).toBe(1);
    expect(sumOf(samples, "edge_control_deployment_first_device_event_seconds_count")).toBe(1);
    // hello, ack and two events.
    expect(sumOf(samples, "edge_control_device_frames_total", { direction: "in" })).toBe(4);
    expect(sumOf(samples, "edge_control_device_frames_total", { direction: "out" })).toBeGreaterThan(1);
    expect(sumOf(samples, "edge_control_device_bytes_total", { direction: "in" })).toBeGreaterThan(100);
    expect(sumOf(samples, "edge_control_http_stream_duration_seconds_count")).toBe(1);
    expect(
      sumOf(samples, "edge_control_store_call_duration_seconds_count", { operation: "deployments.createDeployment" }),
    ).toBe(1);
  }
  await waitFor("the device to be gone", async () => (await value("edge_control_devices_connected")) === 0);
  expect(await value("edge_control_device_sessions_opened_total")).toBe(1);
  expect(await value("edge_control_device_connections_closed_total", { session: "yes" })).toBe(1);
  await waitFor("the stream to be closed", async () => (await value("edge_control_event_streams_open")) === 0);
});

test("a deployment that fails is counted by its code, also one that never reached a device", async () => {
  using stream = await deploy("web");
  await stream.ended;
  const samples = await scrape();
  expect(sumOf(samples, "edge_control_deployments_ended_total", { code: "DeviceNotReachable" })).toBe(1);
  expect(sumOf(samples, "edge_control_deployment_acknowledgement_seconds_count")).toBe(0);
});

test("unfinished deployments are counted by what they wait for, and not again for 15 s", async () => {
  await using device = await online();
  using _stream = await deploy("web");
  await device.next("deploy");
  // The first figures are read by this.
  const samples = await scrape();
  expect(sumOf(samples, "edge_control_deployments_unfinished")).toBe(1);
  expect(sumOf(samples, "edge_control_store_size_bytes", { file: "database" })).toBeGreaterThan(0);
  expect(sumOf(samples, "edge_control_store_size_bytes", { file: "wal" })).toBeGreaterThan(0);
  using _second = await deploy("other");
  await device.next("deploy");
  expect(await value("edge_control_deployments_unfinished")).toBe(1);
  await clock.advance(STORE_FIGURES_MS);
  expect(await value("edge_control_deployments_unfinished")).toBe(2);
});

test("the store and the bus are reported", async () => {
  const samples = await scrape();
  expect(sumOf(samples, "edge_control_store_up")).toBe(1);
  expect(sumOf(samples, "edge_control_bus_state", { state: "local" })).toBe(1);
  expect(sumOf(samples, "edge_control_bus_state", { state: "down" })).toBe(0);
  expect(sumOf(samples, "nodejs_eventloop_lag_p99_seconds")).toBeGreaterThan(0);
  expect(sumOf(samples, "process_resident_memory_bytes")).toBeGreaterThan(1e7);
});

test("bounds that are reached are counted", async () => {
  await api.post("/v1/assets", { serial_number: "B", type: "gateway" });
  expect(await value("edge_control_bounded_total", { bound: "assets_per_account" })).toBe(1);
  await waitFor("the rate limit", async () => (await api.get("/v1/assets")).status === 429);
  expect(await value("edge_control_bounded_total", { bound: "requests_per_key" })).toBe(1);
  {
    await using device = await online();
    device.send("not a frame");
    await waitFor(
      "the bad frame",
      async () => (await value("edge_control_bounded_total", { bound: "bad_frame" })) === 1,
    );
    device.send("x".repeat(MAX_FRAME_BYTES + 1));
    await device.closed;
  }
  expect(await value("edge_control_bounded_total", { bound: "frame_size" })).toBe(1);
});

test("a device with a wrong token is counted", async () => {
  await expect(FakeDevice.open(control.agentUrl, `${asset.deviceToken}x`)).rejects.toThrow("401");
  expect(await value("edge_control_device_connections_refused_total")).toBe(1);
});

test("no label tells of an asset, an app, a key or an account, and their values are few", async () => {
  const other = await control.account();
  const path = `/v1/assets/${asset.uuid}`;
  await using device = await online();
  using stream = await deploy("marked-app");
  const { deployment_id: id } = await device.next("deploy");
  device.event(id, { status: "Fail", message: "marked-message", step: "done", code: "CrashLoopBackOff" });
  await stream.ended;
  await api.get(path);
  await api.get(`/v1/assets/${asset.asset.serialNumber}/edge/deployments/${id}`);
  await api.get(`${path}/edge/apps/marked-app/unknown-path?marked-query=1`);
  await api.get("/marked-path");
  await fetch(`${control.url}/marked-path`, { method: "PROPFIND", headers: { "X-API-Key": "marked-key" } });
  await apiClient(control, other).get(path);
  const text = await (await fetch(control.metricsUrl)).text();
  const secrets = [
    asset.uuid,
    asset.asset.serialNumber,
    id,
    asset.deviceToken,
    /marked/i,
    // Patterns of routes have the names of their parameters, such as `:key_id`.
    /sn-|(?<![a-z_])(?:dep|acc|key|usr|ek|ins)_(?!id\b)/i,
  ];
  for (const one of [...secrets, account.accountId, account.keyId, account.apiKey, other.accountId]) {
    expect(text).not.toMatch(one);
  }
  const allowed: Readonly<Record<string, RegExp>> = {
    route: /^(\(none\)|(\/[\w.:*-]*)+)$/,
    status: /^([1-5]xx|Success|Fail)$/,
    operation: /^[a-zA-Z]+\.[a-zA-Z]+$/,
    version: /^v?\d+\.\d+\.\d+$/,
    agent_version: /^(other|\d[\dA-Za-z.+~]{0,63})$/,
    le: /^(\+Inf|[\d.e-]+)$/,
    code: /^(none|other|[A-Z][A-Za-z]+)$/,
  };
  const values = new Map<string, Set<string>>();
  for (const { labels } of parseExposition(text)) {
    for (const [label, given] of Object.entries(labels)) {
      values.set(label, (values.get(label) ?? new Set()).add(given));
      expect(given).toMatch(allowed[label] ?? /^[A-Za-z0-9_]+$/);
    }
  }
  for (const [label, { size }] of values) expect(size, label).toBeLessThan(100);
});

test("only /metrics is served, and the public listener does not serve it", async () => {
  const root = control.metricsUrl.replace("/metrics", "/");
  expect((await fetch(root)).status).toBe(404);
  expect((await fetch(control.metricsUrl, { method: "POST" })).status).toBe(405);
  expect((await fetch(control.metricsUrl, { method: "HEAD" })).status).toBe(200);
  const { headers } = await fetch(control.metricsUrl);
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect((await fetch(`${control.url}/metrics`)).status).toBe(404);
  const socket = new WebSocket(control.metricsUrl.replace("http", "ws"));
  await expect(new Promise((_resolve, reject) => socket.once("error", reject))).rejects.toThrow();
});
