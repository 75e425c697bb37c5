import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { recordsOf } from "../../support/control-plane/usage-records.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const MB = 1_000_000;
const at = (text: string): number => Date.parse(text) / 1000;
const MONTH_END = at("2026-12-01T00:00:00Z");
const SIM = someSuperSim();

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;
let asset: TestAsset;
let api: ApiClient;

const use = (day: string, megabytes: number) =>
  control.store.usage.recordUsage(
    recordsOf([
      {
        iccid: SIM.iccid,
        bucket: "default_1gb",
        startTime: at(`${day}T00:00:00Z`),
        endTime: at(`${day}T01:00:00Z`),
        bytes: megabytes * MB,
      },
    ]),
  );

async function start(time: string): Promise<void> {
  clock = new FakeClock(at(time) * 1000);
  control = await startControlPlane({ clock });
  onTestFinished(() => control[Symbol.asyncDispose]());
  account = await control.account();
  asset = await control.asset(account, { supersim: SIM, createdAt: at("2026-01-05T08:00:00Z") });
  api = apiClient(control, account);
  // 405 MB, 350 MB of them in the seven whole days before: the case computed by hand.
  const megabytes = [10, 10, 10, 20, 30, 40, 50, 60, 70, 80, 25];
  for (const [index, size] of megabytes.entries()) await use(`2026-11-${String(index + 1).padStart(2, "0")}`, size);
}

const path = (): string => `/v1/assets/${asset.uuid}/sims/supersim/allowance`;
const setAllowance = (megabytes: number) => api.put(path(), { bytes: megabytes * MB });
const attention = async () => (await api.get(`/v1/assets/${asset.uuid}`)).body["attention"];
const settings = (deployments: string) => api.patch("/v1/data-plan-settings", { deployments });

describe("an allowance", () => {
  beforeEach(() => start("2026-11-11T12:00:00Z"));

  test("is set by hand, forecast, and removed again", async () => {
    expect((await api.get(path())).body).toMatchObject({ code: "AllowanceNotFound" });
    const { status, body } = await setAllowance(1000);
    expect(status).toBe(200);
    expect(body).toEqual({
      bytes: 1000 * MB,
      source: "manual",
      period: "calendar_month",
      used_bytes: 405 * MB,
      forecast_bytes: 1380 * MB,
      exceeded_at: at("2026-11-23T09:36:00Z"),
    });
    expect((await api.get(path())).body).toEqual(body);
    expect(await attention()).toEqual(["data"]);
    expect((await api.delete(path())).status).toBe(204);
    expect((await api.delete(path())).status).toBe(204);
    expect((await api.get(path())).status).toBe(404);
    expect(await attention()).toEqual([]);
    const { entries } = (await api.get("/v1/audit")).body as { entries: { action: string; details: unknown }[] };
    expect(entries.filter(({ action }) => action.startsWith("allowance."))).toMatchObject([
      { action: "allowance.removed", details: { sim_type: "supersim" } },
      { action: "allowance.set", details: { sim_type: "supersim", bytes: 1000 * MB } },
    ]);
  });

  test("is judged again and again: attention comes with use", async () => {
    await setAllowance(1381);
    expect(await attention()).toEqual([]);
    // A correction of a day that had been counted already.
    await use("2026-11-11", 1000);
    await passUntil("attention", async () => isData(await attention()));
    const listed = (await api.get("/v1/assets?attention=data")).body as { assets: { uuid: string }[] };
    expect(listed.assets.map(({ uuid }) => uuid)).toEqual([asset.uuid]);
    const { reasons } = (await api.get("/v1/overview")).body as { reasons: Record<string, number> };
    expect(reasons["data"]).toBe(1);
  });

  test("of a SIM that the asset has not is not found", async () => {
    for (const answer of [
      await api.get(path().replace("supersim", "prosim")),
      await api.put(path().replace("supersim", "prosim"), { bytes: 1 }),
      await api.delete(path().replace("supersim", "prosim")),
    ]) {
      expect([answer.status, answer.body["code"]]).toEqual([404, "SimNotFound"]);
    }
    for (const bytes of [0, -1, 1.5, "1", 2 ** 53]) expect((await api.put(path(), { bytes })).status).toBe(422);
  });
});

const deploy = async (fields: object = {}): Promise<EventStream> => {
  const body = { name: "web", image: "registry.example/web:1", ...fields };
  const url = `${control.url}/v1/assets/${asset.uuid}/edge/apps`;
  const stream = await openStream(url, { apiKey: account.apiKey, body });
  onTestFinished(() => stream[Symbol.dispose]());
  return stream;
};

describe("a deployment to an asset with a spent plan", () => {
  let device: FakeDevice;
  beforeEach(async () => {
    await start("2026-11-30T22:00:00Z");
    device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    onTestFinished(() => device[Symbol.asyncDispose]());
    await setAllowance(400);
  });

  const command = async (stream: EventStream) => {
    const frame = await device.next("deploy");
    expect(frame.deployment_id).toBe(stream.deploymentId);
  };

  test("is carried out unless the account wishes otherwise", async () => {
    expect((await api.get("/v1/data-plan-settings")).body).toEqual({ deployments: "ignore" });
    await command(await deploy());
  });

  test("fails as by the device's own budget, if the account asks for urgent ones; an urgent one is carried out", async () => {
    expect((await settings("urgent")).body).toEqual({ deployments: "urgent" });
    const stream = await deploy();
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({
      status: "Fail",
      code: "DataBudgetExceeded",
      details: { limit: "monthly_budget", limit_bytes: 400 * MB, sim_type: "supersim" },
    });
    await command(await deploy({ urgent: true }));
    // With data to spare again.
    await setAllowance(2000);
    await command(await deploy({ name: "other" }));
  });

  test("waits for the next month, if the account wishes that, and says so as the device does", async () => {
    await settings("wait");
    const stream = await deploy();
    const waiting = await stream.event("the wait", ({ details }) => details?.["waiting_for"] !== undefined);
    expect(waiting).toMatchObject({
      status: "Running",
      message: "Waiting until 2026-12-01 00:00 UTC with the download: the data plan of the Super SIM is used up.",
      details: {
        waiting_for: "monthly_budget",
        waiting_until: MONTH_END,
        waiting_s: 2 * 3600,
      },
    });
    expect(await attention()).toEqual(["update_waiting", "data"]);
    // An urgent one goes ahead of it.
    const urgent = await deploy({ name: "other", urgent: true });
    await command(urgent);
    device.success(urgent.deploymentId);
    await urgent.ended;
    await device[Symbol.asyncDispose]();
    await clock.advance(MONTH_END * 1000 - clock.now() - 60_000);
    device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    expect((await api.get(`/v1/assets/${asset.uuid}/edge/deployments/${stream.deploymentId}`)).body).toMatchObject({
      status: "Running",
    });
    expect(device.received.filter(({ type }) => type === "deploy")).toEqual([]);
    await passUntil("the command", async () => device.received.some(({ type }) => type === "deploy"));
    expect(clock.now()).toBeGreaterThanOrEqual(MONTH_END * 1000);
    // The month's plan is a new one.
    expect(await attention()).toEqual([]);
  });

  test.each([
    ["a larger allowance", () => setAllowance(2000)],
    ["another wish of the account", () => settings("ignore")],
  ])("goes on at once with %s", async (_what, change) => {
    await settings("wait");
    const stream = await deploy();
    await stream.event("the wait", ({ details }) => details?.["waiting_for"] === "monthly_budget");
    await change();
    await passUntil("the command", async () => device.received.some(({ type }) => type === "deploy"));
    device.success(stream.deploymentId);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Success" });
  });

  test("is cancelled while it waits, and the device hears nothing of it", async () => {
    await settings("wait");
    const stream = await deploy();
    await stream.event("the wait", ({ details }) => details?.["waiting_for"] === "monthly_budget");
    await api.delete(`/v1/assets/${asset.uuid}/edge/deployments/${stream.deploymentId}`);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    expect(device.received.map(({ type }) => type)).not.toContain("deploy");
  });

  test("waits also where it was accepted before the plan was spent, for a device that was away", async () => {
    await settings("wait");
    await setAllowance(2000);
    await device[Symbol.asyncDispose]();
    await waitFor("the device to be gone", async () => !(await api.get(`/v1/assets/${asset.uuid}`)).body["connected"]);
    const stream = await deploy({ wait_for_device_s: 3600 });
    await stream.event("the wait", ({ details }) => details?.["waiting_for"] === "device");
    await setAllowance(400);
    device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
    await stream.event("the other wait", ({ details }) => details?.["waiting_for"] === "monthly_budget");
    // Its client wished to wait an hour.
    await passUntil("the end", async () => (stream.events.at(-1)?.status ?? "Running") !== "Running");
    expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DataBudgetExceeded" });
    expect(device.received.map(({ type }) => type)).not.toContain("deploy");
  });

  test("is removed, stopped or checked as ever", async () => {
    await settings("urgent");
    const url = `${control.url}/v1/assets/${asset.uuid}/edge/apps/web`;
    const removal = await openStream(url, { method: "DELETE", apiKey: account.apiKey });
    onTestFinished(() => removal[Symbol.dispose]());
    await waitFor("the command", async () => device.received.some((frame) => "deployment_id" in frame));
    expect(removal.events.every(({ status }) => status === "Running")).toBe(true);
  });
});

function isData(reasons: unknown): boolean {
  return Array.isArray(reasons) && reasons.includes("data");
}

/** Lets time pass until something is so. */
async function passUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await waitFor(what, async () => {
    if (await isSo()) return true;
    await clock.advance(60_000);
    return false;
  });
}
