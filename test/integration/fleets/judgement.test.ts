import { expect, test } from "vitest";
import { type FleetRig, imageOf, startFleetRig } from "../../support/fleets/fleet-rig.ts";
import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import { waitFor } from "../../support/wait-for.ts";

type Row = Readonly<Record<string, unknown>>;

async function get(rig: FleetRig, path: string): Promise<Row> {
  const response = await fetch(rig.control.url + path, { headers: { "X-API-Key": rig.account.apiKey } });
  return (await response.json()) as Row;
}

async function send(rig: FleetRig, method: string, path: string, body: unknown): Promise<Row> {
  const headers = { "X-API-Key": rig.account.apiKey, "Content-Type": "application/json" };
  const response = await fetch(rig.control.url + path, { method, headers, body: JSON.stringify(body) });
  return (await response.json()) as Row;
}

const members = async (rig: FleetRig, query = ""): Promise<readonly Row[]> =>
  (await get(rig, `/v1/fleets/kiosks/members${query}`))["members"] as Row[];

const stateOf = async (rig: FleetRig, uuid: string): Promise<unknown> =>
  (await members(rig)).find((member) => member["asset_id"] === uuid)?.["state"];

const reach = (rig: FleetRig, uuid: string, state: string) =>
  waitFor(`the member to be ${state}`, async () => (await stateOf(rig, uuid)) === state);

/** Somebody does something to the app on the device, which reports it. */
function byHand({ devices }: FleetRig, index: number, change: (app: AppReport) => AppReport | undefined): string {
  const { device, uuid } = devices[index] ?? {};
  const app = device?.apps.get("web");
  if (!device || !app || uuid === undefined) throw new Error("no such device");
  const changed = change(app);
  if (changed) device.apps.set("web", changed);
  else device.apps.delete("web");
  device.report();
  return uuid;
}

const changed = (app: AppReport): AppReport => ({
  ...app,
  ...(app.fleet && { fleet: { ...app.fleet, is_changed: true } }),
});
const stopped = (app: AppReport): AppReport => ({ ...app, desired_state: "stopped", state: "stopped" });

async function startWithStable(count: number, fields: object = {}): Promise<FleetRig> {
  const rig = await startFleetRig(count);
  await rig.fleet("kiosks", {}, fields);
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  for (const { uuid } of rig.devices) await reach(rig, uuid, "current");
  return rig;
}

test("what people do on devices is noticed, counted and told, and put right where they ask for it", async () => {
  await using rig = await startWithStable(4);
  const drifted = byHand(rig, 0, changed);
  const missing = byHand(rig, 1, () => undefined);
  const stoppedOne = byHand(rig, 2, stopped);
  await reach(rig, drifted, "drifted");
  await reach(rig, missing, "missing");
  await reach(rig, stoppedOne, "stopped_by_hand");

  const fleet = await get(rig, "/v1/fleets/kiosks");
  expect(fleet["states"]).toEqual({ current: 1, drifted: 1, missing: 1, stopped_by_hand: 1 });
  const wrong = await members(rig, "?state=drifted,missing");
  expect(new Set(wrong.map(({ asset_id: id }) => id))).toEqual(new Set([drifted, missing]));
  const overview = (await get(rig, "/v1/overview"))["reasons"] as Row;
  expect([overview["drifted"], overview["stopped_by_hand"]]).toEqual([2, 1]);

  const dryRun = await send(rig, "POST", "/v1/fleets/kiosks/reapply?dry_run=true", {});
  expect(dryRun["assets"]).toBe(2);
  const messages = (dryRun["members"] as Row[]).map(({ message }) => message);
  expect(new Set(messages)).toEqual(new Set(["web is not there.", "web was changed on the device."]));
  const listed = (all: readonly Row[]) => all.map(({ asset_id: id, since, differences }) => [id, since, differences]);
  expect(listed(dryRun["members"] as Row[])).toEqual(listed(wrong));
  expect(await stateOf(rig, drifted)).toBe("drifted");
  expect((await send(rig, "POST", "/v1/fleets/kiosks/reapply", {}))["assets"]).toBe(2);
  await reach(rig, drifted, "current");
  await reach(rig, missing, "current");
  expect(await stateOf(rig, stoppedOne)).toBe("stopped_by_hand");
  await waitFor("the attention to be gone", async () => {
    const reasons = (await get(rig, "/v1/overview"))["reasons"] as Row;
    return reasons["drifted"] === 0 && reasons["stopped_by_hand"] === 1;
  });
});

test("a member is held, in conflict or waiting where that is so, and no member any more without its tags", async () => {
  await using rig = await startWithStable(2);
  const [held, left] = rig.devices.map(({ uuid }) => uuid);
  await send(rig, "PUT", `/v1/assets/${held}/hold`, { reason: "Pump test" });
  await reach(rig, held ?? "", "held");
  expect(await members(rig, "?state=held")).toMatchObject([{ asset_id: held, message: "Held: Pump test." }]);
  await send(rig, "PUT", `/v1/assets/${left}/tags`, { role: "van" });
  await waitFor("the count to be without it", async () => {
    const { states } = await get(rig, "/v1/fleets/kiosks");
    return JSON.stringify(states) === '{"held":1}';
  });
  await rig.addDevice();
  const joined = rig.devices[2];
  await reach(rig, joined?.uuid ?? "", "current");
  expect(joined?.device.apps.get("web")?.image).toBe(imageOf("one"));
});

test("a fleet that repairs puts right what was changed, never what was stopped or is held", async () => {
  await using rig = await startWithStable(3, { on_drift: "repair" });
  const [, second] = rig.devices;
  await send(rig, "PUT", `/v1/assets/${second?.uuid}/hold`, { reason: "Pump test" });
  await reach(rig, second?.uuid ?? "", "held");
  const repaired = byHand(rig, 0, changed);
  byHand(rig, 1, changed);
  const stoppedOne = byHand(rig, 2, stopped);
  await waitFor("the repair", async () => {
    const member = (await members(rig)).find(({ asset_id: id }) => id === repaired);
    return member?.["state"] === "current" && (member["repair"] as Row | undefined)?.["count"] === 1;
  });
  await reach(rig, stoppedOne, "stopped_by_hand");
  expect(rig.devices.map(({ device }) => device.received.length)).toEqual([2, 1, 1]);
});

test("a person's stop does not take a fleet back to the revision that it has", async () => {
  await using rig = await startWithStable(2);
  byHand(rig, 0, stopped);
  const { device } = rig.devices[0] ?? {};
  // An apply leaves it stopped.
  const report = device?.report.bind(device);
  if (device)
    device.report = () => {
      const app = device.apps.get("web");
      if (app) device.apps.set("web", stopped(app));
      report?.();
    };
  const strategy = { stop_when: { failed: 1 }, on_stop: "rollback", soak_s: 0 };
  const id = await rig.rollOut("kiosks", { strategy });
  const rollout = await rig.reach("kiosks", id, "succeeded", "rolling_back", "rolled_back", "failed", "paused");
  expect(rollout["state"]).toBe("succeeded");
  expect(rollout["counts"]).toEqual({ succeeded: 1, changed_by_hand: 1 });
});

test("a member that a repair has served is put right again after another revision became the stable one", async () => {
  await using rig = await startWithStable(1);
  const putRight = async (): Promise<void> => {
    const uuid = byHand(rig, 0, () => undefined);
    await reach(rig, uuid, "missing");
    expect((await send(rig, "POST", "/v1/fleets/kiosks/reapply", {}))["assets"]).toBe(1);
    await reach(rig, uuid, "current");
  };
  await putRight();
  await rig.revision("kiosks", "two");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await reach(rig, rig.devices[0]?.uuid ?? "", "current");
  await putRight();
  const received = rig.devices[0]?.device.received.map(({ images }) => images[0]);
  expect(received).toEqual(["one", "one", "two", "two"].map(imageOf));
});
