import { expect, test } from "vitest";
import type { PriceEvent } from "../../../../src/protocol/fleets/rollout-price.ts";
import type { RolloutBody } from "../../../../src/protocol/fleets/rollout.ts";
import { type FleetRig, startFleetRig } from "../../../support/fleets/fleet-rig.ts";

/** Makes a plan, without asking devices, and returns its last event and the wave of each asset. */
async function plan({ control, account }: FleetRig, fleet: string, body: object = {}) {
  const response = await fetch(`${control.url}/v1/fleets/${fleet}/rollouts?dry_run=true&ask_devices=false`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const events = (await response.text())
    .split("\n")
    .flatMap((line): PriceEvent[] => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as PriceEvent] : []));
  const waves = new Map(events.flatMap(({ asset }) => (asset ? [[asset.asset_id, asset.wave]] : [])));
  return { last: events.at(-1), waves, id: events.at(-1)?.details?.plan_id };
}

const wavesOf = async (rig: FleetRig, id: string) =>
  new Map((await rig.targets("kiosks", id)).map((target) => [target["asset_id"], target["wave"]]));

test("a plan draws what can be reached, says what is known, and is what the rollout takes, once", async () => {
  await using rig = await startFleetRig(5);
  const [held, away, owned, one, two] = rig.devices.map(({ uuid }) => uuid);
  await rig.api.put(`/v1/assets/${held}/hold`, { reason: "Pump test" });
  await rig.devices[1]?.device.disconnect();
  await rig.api.patch(`/v1/assets/${owned}/tags`, { special: "yes" });
  await rig.fleet("special", {}, { selector: "special" });
  await rig.revision("special", "other");
  await rig.reach("special", await rig.rollOut("special"), "succeeded");
  await rig.fleet("kiosks", { waves: [{ limit: 2 }], offline_after_s: 86_400 });
  await rig.revision("kiosks", "one");

  const { last, waves, id } = await plan(rig, "kiosks");
  expect(waves.size).toBe(5);
  expect([waves.get(one ?? ""), waves.get(two ?? "")]).toEqual([1, 1]);
  const conflict = "The app web on this asset belongs to the fleet special.";
  expect(last).toMatchObject({
    status: "Success",
    details: { revision: 1, waves: [{ targets: 2 }, { targets: 3 }], plan_id: id, not_asked: 5 },
  });
  expect(last?.details?.foreseen.waiting_for).toEqual(
    expect.arrayContaining([
      { for: "hold", count: 1 },
      { for: "connection", count: 1, since: expect.any(Number) },
      { for: "conflict", count: 1, message: conflict },
    ]),
  );
  // What is asked before a plan is started changes nothing of it.
  expect((await plan(rig, "kiosks", { plan_id: id })).waves).toEqual(waves);

  // One leaves, one joins.
  await rig.api.delete(`/v1/assets/${away}/tags`);
  const { uuid: joined } = await rig.addDevice();
  const made = (await rig.api.post("/v1/fleets/kiosks/rollouts", { plan_id: id })).body as unknown as RolloutBody;
  expect(made).toMatchObject({ revision: 1, foreseen: { left: 1, joined: 1, refused: 0 } });
  expect(made.foreseen?.waiting_for.map((each) => each.for).toSorted()).toEqual(["conflict", "hold"]);
  const taken = await wavesOf(rig, made.id);
  expect(taken).toEqual(new Map([...waves].filter(([uuid]) => uuid !== away).concat([[joined, 2]])));
  const again = await rig.api.post("/v1/fleets/kiosks/rollouts", { plan_id: id });
  expect(again).toMatchObject({ status: 404, body: { code: "PlanNotFound" } });
});

test("a plan is refused with what it has already, of another fleet, and where a wave names who is no member", async () => {
  await using rig = await startFleetRig(2);
  await rig.fleet("kiosks");
  await rig.fleet("others", {}, { selector: "role=van", apps: ["db"] });
  await rig.revision("kiosks", "one");
  const { id } = await plan(rig, "kiosks");
  const path = "/v1/fleets/kiosks/rollouts";
  expect(await rig.api.post(path, { plan_id: id, revision: 1 })).toMatchObject({ status: 422 });
  expect(await rig.api.post("/v1/fleets/others/rollouts", { plan_id: id })).toMatchObject({ status: 404 });
  expect(await rig.api.post(path, { plan_id: "pln_\0" })).toMatchObject({ status: 422 });
  const named = await rig.api.post(path, { strategy: { waves: [{ assets: ["GW-unknown"] }] } });
  expect(named).toMatchObject({ status: 422, body: { code: "InvalidRequest" } });
  expect(JSON.stringify(named.body)).toContain("GW-unknown is not a member of the fleet");
  // A canary by its name, whatever its state.
  const canary = rig.devices[1]?.uuid ?? "";
  await rig.devices[1]?.device.disconnect();
  const { body } = await rig.api.get(`/v1/assets/${canary}`);
  const { waves } = await plan(rig, "kiosks", { strategy: { waves: [{ assets: [body["serial_number"]] }] } });
  expect(waves.get(canary)).toBe(1);
});

test("a rollout says in its body, its list and its stream what it waits for, and ends when enough have it", async () => {
  await using rig = await startFleetRig(3);
  await rig.fleet("kiosks", { waves: [{ limit: 1, advance: "manual", soak_s: 0 }], done_at: "60%" });
  await rig.revision("kiosks", "one", { environments: [{ key: "SITE", value: "${SITE}" }] });
  const [lacking, ...rest] = rig.devices.map(({ uuid }) => uuid);
  for (const uuid of rest) await rig.api.put(`/v1/assets/${uuid}/variables`, { SITE: { value: "7" } });
  const id = await rig.rollOut("kiosks");
  const waiting = async () => (await rig.rollout("kiosks", id)) as unknown as RolloutBody;
  await expect.poll(async () => (await waiting()).waits_for_people).toBe(true);
  expect((await waiting()).waiting_for).toEqual([{ for: "advance", count: 2 }]);
  const listed = (await rig.api.get("/v1/fleets/kiosks/rollouts")).body as { rollouts?: RolloutBody[] };
  expect(listed.rollouts?.[0]).toMatchObject({ waits_for_people: true, state: "running" });

  // A dry run changes nothing; the command shows the new state at once.
  const path = `/v1/fleets/kiosks/rollouts/${id}`;
  expect((await rig.api.post(`${path}/advance?dry_run=true`, undefined)).body).toMatchObject({ wave: 2 });
  expect((await waiting()).wave).toBe(1);
  expect((await rig.api.post(`${path}/advance`, undefined)).body).toMatchObject({ wave: 2, waits_for_people: false });
  const ended = await rig.reach("kiosks", id, "succeeded");
  expect(ended["reason"]).toBe("2 of 3 assets run revision 1; 1 deferred.");
  // The upkeep serves the rest.
  await rig.api.put(`/v1/assets/${lacking}/variables`, { SITE: { value: "8" } });
  await expect.poll(() => rig.devices[0]?.device.apps.has("web")).toBe(true);

  const back = await rig.api.post(`${path}/rollback?dry_run=true`, undefined);
  expect(back).toMatchObject({ status: 409, body: { code: "RolloutStateConflict" } });
  const headers = { "X-API-Key": rig.account.apiKey };
  const stream = await (await fetch(`${rig.control.url}${path}/events`, { headers })).text();
  expect(stream).toContain('"waiting_for":[{"for":"advance","count":2}],"waits_for_people":true');
});

test("a cancelled rollout shows at once that nothing waits", async () => {
  await using rig = await startFleetRig(2);
  for (const { device } of rig.devices) await device.disconnect();
  await rig.fleet("kiosks");
  await rig.revision("kiosks", "one");
  const id = await rig.rollOut("kiosks");
  const counts = async () => (await rig.rollout("kiosks", id))["counts"];
  await expect.poll(counts).toEqual({ waiting: 2 });
  const cancelled = await rig.api.post(`/v1/fleets/kiosks/rollouts/${id}/cancel`, undefined);
  expect(cancelled.body).toMatchObject({ counts: { skipped: 2 }, waiting_for: [], waits_for_people: false });
});
