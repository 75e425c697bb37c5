import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { someApp, someFacts } from "../../support/control-plane/device-samples.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

/* Clients that ask again and again, with the entity tag of what they have. */

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
let device: FakeDevice;

beforeAll(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
});
afterAll(() => control[Symbol.asyncDispose]());

beforeEach(async () => {
  account = await control.account();
  asset = await control.asset(account);
  device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  device.report({ hash: "h1", apps: [someApp("web")], device: someFacts() });
  await stored("h1");
  return async () => {
    await device[Symbol.asyncDispose]();
  };
});

/** Resolves when the report with this hash is stored, and so all earlier ones are handled. */
const stored = (hash: string) =>
  waitFor(`report ${hash}`, async () => (await control.store.devices.findReportHash(asset.uuid)) === hash);

const apps = () => apiClient(control, account).get(`/v1/assets/${asset.uuid}/edge/apps`);

async function read(path: string, tag?: string): Promise<{ readonly status: number; readonly tag: string }> {
  const response = await fetch(`${control.url}/v1/assets${path.replace("ID", asset.uuid)}`, {
    headers: { "X-API-Key": account.apiKey, ...(tag !== undefined && { "If-None-Match": tag }) },
  });
  await response.text();
  return { status: response.status, tag: response.headers.get("etag") ?? "" };
}

const ASSETS = ["", "/ID"];
const REPORTS = ["/ID/edge/apps", "/ID/edge/apps/web"];

describe.each([...ASSETS, ...REPORTS])("GET /v1/assets%s", (path) => {
  test("is 304 while the device is connected and nothing changes", async () => {
    const first = await read(path);
    // The representation is not the same to the byte.
    expect(first).toMatchObject({ status: 200, tag: expect.stringMatching(/^W\/"/) });
    await clock.advance(60_000);
    const again = await read(path, first.tag);
    expect(again).toEqual({ status: 304, tag: first.tag });
    expect((await read(path, first.tag.slice(2))).status).toBe(304);
  });

  test("is 200 once the device is not connected any more, and then 304", async () => {
    const { tag } = await read(path);
    await device.cut();
    await waitFor("the end of its session", async () => (await apps()).body["reachable"] === false);
    const gone = await read(path, tag);
    expect(gone.status).toBe(200);
    await clock.advance(60_000);
    expect((await read(path, gone.tag)).status).toBe(304);
  });
});

test.each(REPORTS)(
  "GET /v1/assets%s is 200 after another report, and once the device holds back changes",
  async (path) => {
    const first = await read(path);
    device.report({ base: "h1", hash: "h2", apps: [someApp("web", { state: "restarting" })] });
    await stored("h2");
    const second = await read(path, first.tag);
    expect(second.status).toBe(200);
    // Nothing is older than the report.
    await clock.advance(20_000);
    device.reportHeld(10);
    await waitFor("the age", async () => (await apps()).body["age_s"] === 10);
    const third = await read(path, second.tag);
    expect(third.status).toBe(200);
    await clock.advance(60_000);
    expect((await read(path, third.tag)).status).toBe(304);
  },
);

test.each(ASSETS)("GET /v1/assets%s is 200 after a change, which the tag from before does not hinder", async (path) => {
  const { tag } = await read(path);
  const { tag: ofAsset } = await read("/ID");
  await clock.advance(60_000);
  const change = { "X-API-Key": account.apiKey, "Content-Type": "application/json", "If-Match": ofAsset };
  const body = JSON.stringify({ name: "Another" });
  const changed = await fetch(`${control.url}/v1/assets/${asset.uuid}`, { method: "PATCH", headers: change, body });
  expect(changed.status).toBe(200);
  await changed.text();
  expect((await read(path, tag)).status).toBe(200);
  expect(changed.headers.get("etag")).toBe((await read("/ID")).tag);
});

test("usage and history of a time that is over are 304 for ever, and usage that is not final until it says more", async () => {
  const nowS = Math.floor(clock.now() / 1000);
  const HOUR = 3600;
  const { uuid } = await control.asset(account, { supersim: someSuperSim() });
  const tagged = async (path: string, tag?: string) => {
    const headers = { "X-API-Key": account.apiKey, ...(tag !== undefined && { "If-None-Match": tag }) };
    const response = await fetch(`${control.url}${path}`, { headers });
    await response.text();
    return { status: response.status, tag: response.headers.get("etag") ?? "" };
  };
  const usage = (from: number, to: number) => `start_time=${nowS - from * HOUR}&end_time=${nowS - to * HOUR}`;
  const history = `from=${nowS - 9 * HOUR}&to=${nowS - 8 * HOUR}`;
  for (const [path, form] of [
    [`/v1/usages?${usage(200, 100)}`, /^"/],
    [`/v1/assets/${uuid}/sims/supersim/usages?${usage(200, 100)}`, /^"/],
    [`/v1/usages?${usage(60, 1)}`, /^W\/"/],
    [`/v1/assets/${uuid}/uptime?${history}`, /^"/],
    [`/v1/uptime?${history}`, /^"/],
    [`/v1/assets/${uuid}/connectivity?${history}`, /^"/],
  ] as const) {
    const first = await tagged(path);
    expect(first, path).toEqual({ status: 200, tag: expect.stringMatching(form) });
    await clock.advance(60_000);
    expect(await tagged(path, first.tag), path).toEqual({ status: 304, tag: first.tag });
  }
});
