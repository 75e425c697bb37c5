import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiClient, type ApiResponse } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someApp, someFacts } from "../../support/control-plane/device-samples.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

/** Resolves when the report with this hash is stored, and so all earlier ones are handled. */
const held = (uuid: string, hash: string) =>
  waitFor(`report ${hash}`, async () => (await control.store.devices.findReportHash(uuid)) === hash);

const nowS = (): number => Math.floor(clock.now() / 1000);
const get = (uuid: string, path: string): Promise<ApiResponse> =>
  apiClient(control, account).get(`/v1/assets/${uuid}/edge/${path}`);

/** Resolves when the age of the device's apps is this, in seconds. */
const untilAge = (uuid: string, ageS: number) =>
  waitFor(`the age ${ageS}`, async () => (await get(uuid, "apps")).body["age_s"] === ageS);

async function names(uuid: string): Promise<string[]> {
  const { body } = await get(uuid, "apps");
  return (body["apps"] as { name: string }[]).map(({ name }) => name);
}

describe("the apps of a device", () => {
  test("that has never reported are none, and the response says so", async () => {
    const { uuid } = await control.asset(account);
    expect((await get(uuid, "apps")).body).toEqual({
      apps: [],
      reachable: false,
      last_seen: null,
      reported_at: null,
      age_s: null,
    });
    const one = await get(uuid, "apps/web");
    expect([one.status, one.body["code"]]).toEqual([404, "AppNotFound"]);
    expect(one.body["message"]).toContain("not reported its apps");
  });

  test("are those of its last report, with its age while it is away", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({
      hash: "h1",
      apps: [someApp("web"), someApp("alpha", { state: "unhealthy" })],
      device: someFacts(),
    });
    await device.flushed();
    const reportedAt = nowS();
    expect(await names(uuid)).toEqual(["alpha", "web"]);
    await clock.advance(60_000);
    // Connected without reports: nothing has changed.
    const present = await get(uuid, "apps/web");
    expect(present.body).toEqual({
      ...someApp("web"),
      ports: [{ host_port: 30_080, target_port: 80 }],
      reached_as: ["web:80"],
      owner_fleet: null,
      reachable: true,
      last_seen: nowS(),
      reported_at: reportedAt,
      age_s: 0,
    });
    await device.cut();
    const leftAt = nowS();
    await waitFor("the end of its session", async () => (await get(uuid, "apps")).body["reachable"] === false);
    expect((await get(uuid, "apps/web")).body["reached_as"]).toEqual(["web:80"]);
    await clock.advance(90_000);
    expect((await get(uuid, "apps")).body).toMatchObject({ last_seen: leftAt, reported_at: reportedAt, age_s: 90 });
    await control.restart();
    expect((await get(uuid, "apps")).body).toMatchObject({ last_seen: leftAt, reported_at: reportedAt, age_s: 90 });
    expect((await get(uuid, "apps/other")).body).toMatchObject({ code: "AppNotFound" });
  });
});

describe("changes that a device holds back", () => {
  test("count in the age while it is connected, until its next report", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ hash: "h1", apps: [someApp("web")], device: someFacts() });
    await held(uuid, "h1");
    await clock.advance(100_000);
    expect((await get(uuid, "apps")).body).toMatchObject({ reachable: true, age_s: 0 });
    device.reportHeld(10);
    await untilAge(uuid, 10);
    await clock.advance(60_000);
    for (const path of ["apps", "apps/web"]) {
      expect((await get(uuid, path)).body).toMatchObject({ reachable: true, age_s: 70 });
    }
    device.report({ base: "h1", hash: "h2", apps: [someApp("web", { state: "restarting" })] });
    await held(uuid, "h2");
    expect((await get(uuid, "apps")).body).toMatchObject({ reachable: true, age_s: 0 });
    await clock.advance(60_000);
    device.reportHeld(5);
    await untilAge(uuid, 5);
    device.reportHeld(null);
    await untilAge(uuid, 0);
  });

  test("count from before it was disconnected, and no more after it has reconnected without any", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ hash: "h1", apps: [someApp("web")] });
    await held(uuid, "h1");
    await clock.advance(100_000);
    device.reportHeld(40);
    await untilAge(uuid, 40);
    await device.cut();
    await waitFor("the end of its session", async () => (await get(uuid, "apps")).body["reachable"] === false);
    await clock.advance(30_000);
    expect((await get(uuid, "apps")).body).toMatchObject({ reachable: false, age_s: 70 });
    expect((await get(uuid, "device")).body).toMatchObject({ live: false, age_s: 70 });
    await using _back = await FakeDevice.connect(control.agentUrl, deviceToken);
    expect((await get(uuid, "apps")).body).toMatchObject({ reachable: true, age_s: 0 });
  });

  test("never make the data older than the report, whatever the device says", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ hash: "h1", apps: [someApp("web")] });
    await held(uuid, "h1");
    await clock.advance(20_000);
    device.reportHeld(Number.MAX_SAFE_INTEGER);
    await untilAge(uuid, 20);
  });

  test("are held back still after the complete report was requested: that is current at its moment", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ base: "unknown", hash: "h2" });
    device.reportHeld(30);
    const query = await device.next("query");
    device.answer(query.query_id, { base: null, hash: "h3", apps: [someApp("web")], removed_apps: [] });
    device.endQuery(query.query_id);
    await held(uuid, "h3");
    expect((await get(uuid, "apps")).body).toMatchObject({ age_s: 0 });
    await clock.advance(15_000);
    await untilAge(uuid, 15);
  });
});

describe("a report", () => {
  test("is stored by applying deltas, and its hash is in the next welcome", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const first = await FakeDevice.connect(control.agentUrl, deviceToken);
    first.report({ hash: "h1", apps: [someApp("a"), someApp("b")], device: someFacts() });
    first.report({ base: "h1", hash: "h2", apps: [someApp("c")], removed_apps: ["a"] });
    await held(uuid, "h2");
    expect(await names(uuid)).toEqual(["b", "c"]);
    await first.cut();
    await using second = await FakeDevice.open(control.agentUrl, deviceToken);
    second.hello();
    expect(await second.next("welcome")).toMatchObject({ report_hash: "h2" });
    second.report({ base: "h2", hash: "h3", apps: [someApp("b", { state: "stopped" })] });
    await second.flushed();
    expect((await get(uuid, "apps/b")).body).toMatchObject({ state: "stopped" });
  });

  test("that is based on another one than the stored one is requested completely, once", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ base: "unknown", hash: "h2", apps: [someApp("b")] });
    const query = await device.next("query");
    expect(query).toMatchObject({ what: "report" });
    device.report({ base: "h2", hash: "h3", apps: [someApp("c")] });
    device.answer(query.query_id, { base: null, hash: "h3", apps: [someApp("b"), someApp("c")], removed_apps: [] });
    device.endQuery(query.query_id);
    // In order: the next report is a delta to the answer.
    device.report({ base: "h3", hash: "h4", removed_apps: ["b"] });
    await held(uuid, "h4");
    expect(await names(uuid)).toEqual(["c"]);
    for (let count = 0; count < 20; count++) device.report({ base: "unknown", hash: `x${count}` });
    // Handled in order: when the last report is stored, all earlier ones are handled.
    device.report({ base: "h4", hash: "h5" });
    await held(uuid, "h5");
    expect(device.received.filter(({ type }) => type === "query")).toHaveLength(1);
    expect(await names(uuid)).toEqual(["c"]);
    await clock.advance(60_000);
    device.report({ base: "unknown", hash: "y" });
    expect(await device.next("query")).toMatchObject({ what: "report" });
  });

  test("never brings the value of an environment into the store, whatever the device sends", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const spec = { environments: [{ key: "TOKEN", value: "in-clear", secret: true }] };
    device.report({ hash: "h1", apps: [someApp("web", { spec })] });
    await device.flushed();
    expect((await get(uuid, "apps/web")).body).toMatchObject({
      spec: { environments: [{ key: "TOKEN", value: "***", secret: true }] },
      ports: [],
    });
    expect(JSON.stringify(await control.store.devices.findReport(uuid))).not.toContain("in-clear");
  });

  test("that grows beyond the size of one frame is not stored", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const spec = { command: ["x".repeat(300_000)] };
    // The bytes of a device are read at a rate.
    const stored = (hash: string): Promise<unknown> =>
      waitFor(`the report ${hash}`, async () => {
        await clock.advance(1_000);
        return (await control.store.devices.findReportHash(uuid)) === hash;
      });
    device.report({ hash: "h0" });
    for (const [index, name] of ["a", "b", "c", "d", "e"].entries()) {
      device.report({ base: `h${index}`, hash: `h${index + 1}`, apps: [someApp(name, { spec })] });
    }
    // Accepted only as a delta to the stored report: the third of them.
    device.report({ base: "h3", hash: "h3b" });
    await stored("h3b");
    expect(await names(uuid)).toEqual(["a", "b", "c"]);
    device.report({ hash: "small", apps: [someApp("z")] });
    await stored("small");
    expect(await names(uuid)).toEqual(["z"]);
  });

  test("above the rate limit delays its device, and no other", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    for (let count = 1; count <= 40; count++) device.report({ hash: `h${count}` });
    await held(uuid, "h30");
    const { uuid: other, deviceToken: othersToken } = await control.asset(account);
    await using neighbour = await FakeDevice.connect(control.agentUrl, othersToken);
    neighbour.report({ hash: "at once" });
    await neighbour.flushed();
    expect(await control.store.devices.findReportHash(other)).toBe("at once");
    expect(await control.store.devices.findReportHash(uuid)).toBe("h30");
    await waitFor("the rest", async () => {
      await clock.advance(1_000);
      return (await control.store.devices.findReportHash(uuid)) === "h40";
    });
  });

  test("is removed with its asset", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    device.report({ hash: "h1", apps: [someApp("web")] });
    await device.flushed();
    await apiClient(control, account).delete(`/v1/assets/${uuid}`);
    device.report({ base: "h1", hash: "h2", apps: [someApp("late")] });
    await device.closed;
    expect(await control.store.devices.findReport(uuid)).toBeUndefined();
  });
});

describe("reveal=environments", () => {
  const spec = {
    name: "web",
    image: "web:1",
    host_network: false,
    privileged: false,
    environments: [{ key: "TOKEN", value: "revealed" }],
    ports: [],
    volumes: [],
  };

  test("queries the device, and nothing of the answer is stored", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const asking = get(uuid, "apps/web?reveal=environments");
    const query = await device.next("query");
    expect(query).toMatchObject({ what: "app", params: { app: "web", reveal: true } });
    device.answer(query.query_id, { app: someApp("web"), spec });
    device.endQuery(query.query_id);
    const answer = await asking;
    expect(answer.body).toMatchObject({ name: "web", spec: { environments: spec.environments }, age_s: 0 });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(await control.store.devices.findReport(uuid)).toBeUndefined();
    expect(device.received.filter(({ type }) => type === "query_cancel")).toEqual([]);
  });

  test("is answered 503 while the device is away, or when it does not answer within 10 s", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const away = await get(uuid, "apps/web?reveal=environments");
    expect([away.status, away.body]).toEqual([503, { code: "DeviceNotReachable", message: "Device not reachable" }]);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const asking = get(uuid, "apps/web?reveal=environments");
    const { query_id: id } = await device.next("query");
    await clock.advance(10_000);
    expect((await asking).status).toBe(503);
    expect(await device.next("query_cancel")).toMatchObject({ query_id: id });
    // Too late, but not a bad frame.
    device.answer(id, { app: someApp("web"), spec });
    device.endQuery(id);
    await device.flushed();
    expect(device.isClosed).toBe(false);
  });

  test.each([
    ["AppNotFound", "There is no app web.", 404, { code: "AppNotFound", message: "There is no app web." }],
    ["EngineUnavailable", undefined, 503, { code: "EngineUnavailable" }],
    ["PortOfCall", undefined, 502, { code: "DeviceFailed", details: { device_code: "Internal" } }],
  ])("ends as the device reports: %s", async (code, message, status, body) => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const asking = get(uuid, "apps/web?reveal=environments");
    device.endQuery((await device.next("query")).query_id, code, message);
    const answer = await asking;
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject(body);
  });

  test.each([
    ["nothing", undefined],
    ["something else", { lines: [] }],
    ["an app without its specification", { app: someApp("web") }],
  ])("answered with %s is DeviceFailed, and the session continues", async (_what, answer) => {
    const { uuid, deviceToken } = await control.asset(account);
    await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const asking = get(uuid, "apps/web?reveal=environments");
    const { query_id: id } = await device.next("query");
    if (answer === undefined) device.endQuery(id);
    else device.answer(id, answer);
    expect(await asking).toMatchObject({ status: 502, body: { code: "DeviceFailed" } });
    await device.flushed();
    expect(device.isClosed).toBe(false);
  });

  test("is answered 503 when the connection is lost meanwhile", async () => {
    const { uuid, deviceToken } = await control.asset(account);
    const device = await FakeDevice.connect(control.agentUrl, deviceToken);
    const asking = get(uuid, "apps/web?reveal=environments");
    await device.next("query");
    await device.cut();
    expect((await asking).status).toBe(503);
  });
});
