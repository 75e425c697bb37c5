import { expect, test } from "vitest";
import { imageOf, type RigDevice, startFleetRig } from "../../support/fleets/fleet-rig.ts";
import type { Behaviour } from "../../support/fleets/simulated-device.ts";
import { IdleClock } from "../../support/idle-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

test("a rollout brings a revision to every member, wave by wave", async () => {
  await using rig = await startFleetRig(6);
  await rig.fleet("kiosks", {
    waves: [
      { limit: 1, soak_s: 0 },
      { limit: "50%", soak_s: 0 },
    ],
  });
  expect(await rig.revision("kiosks", "one")).toBe(1);
  const id = await rig.rollOut("kiosks");
  const done = await rig.reach("kiosks", id, "succeeded");
  expect(done).toMatchObject({ counts: { succeeded: 6 }, wave: 3, revision: 1, previous_revision: null });
  expect(done["waves"]).toMatchObject([{ targets: 1 }, { targets: 2 }, { targets: 3 }]);
  for (const { device } of rig.devices) {
    expect(device.apps.get("web")?.image).toBe(imageOf("one"));
    expect(device.received).toHaveLength(1);
  }
  expect((await rig.api.get("/v1/fleets/kiosks")).body).toMatchObject({ stable_revision: 1 });
});

test("a bad revision stops by itself in the first wave and goes back", async () => {
  await using rig = await startFleetRig(5);
  await rig.fleet("kiosks", {
    waves: [{ limit: 2, soak_s: 0 }],
    stop_when: { failed: 1, min_attempted: 1 },
    on_stop: "rollback",
    attempts: 1,
  });
  await rig.revision("kiosks", "good");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await rig.revision("kiosks", "bad");
  for (const { device } of rig.devices)
    device.behave = ({ images }) =>
      images.includes(imageOf("bad")) ? { fail: "Unhealthy", logs: ["no such table"] } : "succeed";
  const id = await rig.rollOut("kiosks");
  const done = await rig.reach("kiosks", id, "rolled_back");
  expect(done["reason"]).toMatch(/failed/);
  const got = rig.devices.filter(({ device }) => device.received.some(({ images }) => images.includes(imageOf("bad"))));
  expect(got.length).toBeGreaterThanOrEqual(1);
  expect(got.length).toBeLessThanOrEqual(2);
  for (const { device } of rig.devices) expect(device.apps.get("web")?.image).toBe(imageOf("good"));
  expect((await rig.api.get("/v1/fleets/kiosks")).body).toMatchObject({ stable_revision: 1 });
  // What went wrong stays on record.
  const path = `/v1/fleets/kiosks/rollouts/${id}`;
  const failed = (await rig.api.get(`${path}/targets?failed=true`)).body as { targets: object[] };
  expect(failed.targets).toHaveLength(got.length);
  const attempt = { direction: "forward", attempt: 1, state: "failed", code: "Unhealthy", logs: "no such table" };
  const past = { ...attempt, message: "It did not work.", deployment_id: expect.stringMatching(/^dep_/) as unknown };
  for (const target of failed.targets)
    expect(target).toMatchObject({ state: "rolled_back", attempts: [expect.objectContaining(past)] });
  const count = got.length;
  expect((await rig.api.get(path)).body).toMatchObject({
    failures: [{ code: "Unhealthy", attempts: count, assets: count }],
  });

  // Only these are tried again; the others do not run it, so that it does not become the stable revision.
  for (const { device } of rig.devices) device.behave = () => "succeed";
  expect(await rig.api.post(`${path}/retry?dry_run=true`, undefined)).toMatchObject({
    status: 200,
    body: { revision: 2, assets: count, current: 0, left: 0, superseded: null, under_way: null },
  });
  const { status, body } = await rig.api.post(`${path}/retry`, undefined);
  expect(status).toBe(201);
  const retry = body as { readonly id: string };
  expect(body).toMatchObject({ retry_of: id, revision: 2, targets: count });
  expect(await rig.reach("kiosks", retry.id, "succeeded")).toMatchObject({ counts: { succeeded: count } });
  const tried = rig.devices.filter(({ device }) => device.apps.get("web")?.image === imageOf("bad"));
  expect(tried).toEqual(got);
  expect((await rig.api.get("/v1/fleets/kiosks")).body).toMatchObject({ stable_revision: 1 });
  expect((await rig.api.post(`/v1/fleets/kiosks/rollouts/${retry.id}/retry`, undefined)).body).toMatchObject({
    code: "RolloutStateConflict",
    message: `Nothing to retry: no asset has failed in the rollout or refused it (${count} succeeded).`,
  });
  // Nor are those tried once more that run it by now, or have left.
  const [one, other] = got;
  if (other && one) await rig.api.put(`/v1/assets/${one.uuid}/tags`, { role: "spare" });
  const message =
    other === undefined
      ? "Nothing to retry: 1 asset has failed in the rollout; 1 of them runs revision 2 by now."
      : "Nothing to retry: 2 assets have failed in the rollout; 1 of them runs revision 2 by now, 1 of them is not in the fleet any more.";
  await expect
    .poll(async () => (await rig.api.post(`${path}/retry`, undefined)).body)
    .toMatchObject({ code: "RolloutStateConflict", message });
});

test("an attempt that fails while its app soaks has the last lines of the app's output, asked for once", async () => {
  await using rig = await startFleetRig(1, { clock: new IdleClock() });
  await rig.fleet("kiosks", { stop_when: { failed: 1, min_attempted: 1 }, on_stop: "rollback", attempts: 1 });
  await rig.revision("kiosks", "good");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await rig.revision("kiosks", "bad");
  const [{ device }] = rig.devices as [RigDevice];
  device.behave = ({ images }) => (images.includes(imageOf("bad")) ? "unhealthy" : "succeed");
  const asked: string[] = [];
  device.output = (app) => {
    asked.push(app);
    return ["starting", "no such table"];
  };
  const id = await rig.rollOut("kiosks");
  await rig.reach("kiosks", id, "rolled_back");
  const [target] = await rig.targets("kiosks", id);
  const failed = { direction: "forward", state: "failed", code: "CrashLoopBackOff", logs: "starting\nno such table" };
  expect(target).toMatchObject({ state: "rolled_back", attempts: [failed] });
  expect(asked).toEqual(["web"]);
});

test("a retry of a retry makes a revision the stable one only if the first rollout has left out nobody else", async () => {
  await using rig = await startFleetRig(3);
  await rig.fleet("kiosks", {
    waves: [{ limit: 2, soak_s: 0 }],
    stop_when: { failed: 2, min_attempted: 2 },
    attempts: 1,
  });
  await rig.revision("kiosks", "good");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await rig.revision("kiosks", "next");
  let isBad = true;
  for (const { device } of rig.devices)
    device.behave = ({ images }) => (isBad && images.includes(imageOf("next")) ? { fail: "Unhealthy" } : "succeed");
  const first = await rig.rollOut("kiosks");
  await rig.reach("kiosks", first, "paused");
  // Of the third, nothing was tried.
  await rig.api.post(`/v1/fleets/kiosks/rollouts/${first}/cancel`, undefined);
  const retry = async (id: string) =>
    ((await rig.api.post(`/v1/fleets/kiosks/rollouts/${id}/retry`, undefined)).body as { id: string }).id;
  const second = await retry(first);
  await rig.reach("kiosks", second, "failed");
  isBad = false;
  await rig.reach("kiosks", await retry(second), "succeeded");
  expect((await rig.api.get("/v1/fleets/kiosks")).body).toMatchObject({ stable_revision: 1 });
});

test("a device whose attempt fails after the rollout has begun to go back goes back as well", async () => {
  await using rig = await startFleetRig(2);
  await rig.fleet("kiosks", { stop_when: { failed: 1, min_attempted: 1 }, on_stop: "rollback", attempts: 1 });
  await rig.revision("kiosks", "good");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await rig.revision("kiosks", "bad");
  const [first, late] = rig.devices;
  const behaviour = Promise.withResolvers<Behaviour>();
  if (late) late.device.behave = ({ images }) => (images.includes(imageOf("bad")) ? behaviour.promise : "succeed");
  if (first) {
    first.device.behave = async ({ images }) => {
      if (!images.includes(imageOf("bad"))) return "succeed";
      await waitFor("the other one to have begun", () => late?.device.received.length === 2);
      return { fail: "Unhealthy" };
    };
  }
  const id = await rig.rollOut("kiosks");
  await rig.reach("kiosks", id, "rolling_back");
  behaviour.resolve({ fail: "Unhealthy" });
  expect(await rig.reach("kiosks", id, "rolled_back")).toMatchObject({ counts: { rolled_back: 2 } });
});

test("a device that was away gets the newest revision on its return, never the one in between", async () => {
  await using rig = await startFleetRig(3);
  await rig.fleet("kiosks", {});
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  const [away] = rig.devices;
  await away?.device.disconnect();
  await rig.revision("kiosks", "two");
  const second = await rig.rollOut("kiosks");
  await waitFor("the others to have it", async () => {
    const { succeeded } = (await rig.rollout("kiosks", second))["counts"] as Record<string, number | undefined>;
    return succeeded === 2;
  });
  await waitFor("the one to be waited for", async () =>
    (await rig.targets("kiosks", second)).some(
      ({ state, for: reason }) => state === "waiting" && reason === "connection",
    ),
  );
  await rig.revision("kiosks", "three");
  const third = await rig.rollOut("kiosks");
  expect((await rig.rollout("kiosks", second))["state"]).toBe("superseded");
  await away?.device.connect();
  await rig.reach("kiosks", third, "succeeded");
  expect(away?.device.received.map(({ images }) => images[0])).toEqual([imageOf("one"), imageOf("three")]);
});

test("a device that a rollout has ended without is waited for, and served when it returns", async () => {
  await using rig = await startFleetRig(2);
  await rig.fleet("kiosks", {});
  // Both at first: a new revision has the upkeep look at its members, too.
  await rig.revision("kiosks", "one");
  await rig.revision("kiosks", "two");
  await rig.reach("kiosks", await rig.rollOut("kiosks", { revision: 1 }), "succeeded");
  const [away] = rig.devices;
  await away?.device.disconnect();
  const id = await rig.rollOut("kiosks", { strategy: { soak_s: 0, done_at: 1 } });
  await rig.reach("kiosks", id, "succeeded");
  await waitFor("the member to be waited for", async () => {
    const { members } = (await rig.api.get("/v1/fleets/kiosks/members")).body as { members: readonly object[] };
    return members.some((member) => "for" in member && member.for === "connection");
  });
  expect((await rig.rollout("kiosks", id))["counts"]).toEqual({ succeeded: 1, deferred: 1 });
  await away?.device.connect();
  await waitFor("it to have the revision", () => away?.device.apps.get("web")?.image === imageOf("two"));
});

test("no target begins after a pause was answered; the rollout goes on when it is resumed", async () => {
  await using rig = await startFleetRig(12);
  await rig.fleet("kiosks", { max_parallel: 2 });
  await rig.revision("kiosks", "one");
  // The first ones are at work until the pause was answered.
  const work = Promise.withResolvers<Behaviour>();
  for (const { device } of rig.devices) device.behave = () => work.promise;
  const id = await rig.rollOut("kiosks");
  await waitFor("some to have begun", () => rig.devices.some(({ device }) => device.received.length > 0));
  const paused = await rig.api.post(`/v1/fleets/kiosks/rollouts/${id}/pause`, undefined);
  expect(paused.status).toBe(200);
  const begun = (await rig.targets("kiosks", id)).filter(({ attempt }) => Number(attempt) > 0).length;
  expect(begun).toBeLessThan(12);
  work.resolve("succeed");
  await waitFor("what was begun to end", async () =>
    (await rig.targets("kiosks", id)).every(({ state }) => state !== "deploying" && state !== "soaking"),
  );
  expect((await rig.targets("kiosks", id)).filter(({ attempt }) => Number(attempt) > 0)).toHaveLength(begun);
  await rig.api.post(`/v1/fleets/kiosks/rollouts/${id}/resume`, undefined);
  await rig.reach("kiosks", id, "succeeded");
});

test("a rollout goes on after the service was restarted in its midst, and no device is asked while an attempt is open", async () => {
  await using rig = await startFleetRig(8);
  await rig.fleet("kiosks", { max_parallel: 2 });
  await rig.revision("kiosks", "one");
  const id = await rig.rollOut("kiosks");
  await waitFor("some to have begun", () => rig.devices.filter(({ device }) => device.received.length > 0).length >= 3);
  await rig.control.restart();
  for (const { device } of rig.devices) await device.connect(rig.control.agentUrl);
  await rig.reach("kiosks", id, "succeeded");
  for (const { device } of rig.devices) {
    expect(device.apps.get("web")?.image).toBe(imageOf("one"));
    // Another attempt follows only one that has ended without the device, as far as the service could know.
    for (const { deploymentId } of device.received.slice(0, -1)) {
      const deployment = await rig.control.store.deployments.findDeployment(deploymentId);
      expect(deployment).toMatchObject({ state: { status: "Fail", code: "DeviceNotReachable" } });
    }
  }
});

test("an asset that joins gets the stable revision; one that leaves keeps its app, which is nobody's", async () => {
  await using rig = await startFleetRig(2);
  await rig.fleet("kiosks", {});
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  const joined = await rig.addDevice();
  await waitFor("it to have the stable revision", () => joined.device.apps.get("web")?.image === imageOf("one"));
  const [leaver] = rig.devices;
  await rig.api.patch(`/v1/assets/${leaver?.uuid}/tags`, { role: "van" });
  await waitFor(
    "it to be nobody's",
    async () => (await rig.control.store.fleets.listOwners(leaver?.uuid ?? "")).length === 0,
  );
  expect(leaver?.device.apps.get("web")?.image).toBe(imageOf("one"));
});

test("an asset that the upkeep serves while another revision becomes the stable one gets that one afterwards", async () => {
  await using rig = await startFleetRig(2);
  await rig.fleet("kiosks", { soak_s: 0 });
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  const [served] = rig.devices;
  if (!served) throw new Error("no device");
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  served.device.behave = async ({ images }): Promise<Behaviour> => {
    if (!images.includes(imageOf("one"))) return "succeed";
    begun.resolve();
    await ended.promise;
    return "succeed";
  };
  served.device.apps.delete("web");
  served.device.report();
  const reapply = () => rig.api.post("/v1/fleets/kiosks/reapply", {});
  await waitFor("it to be put right", async () => ((await reapply()).body as { assets: number }).assets === 1);
  await begun.promise;
  await rig.revision("kiosks", "two");
  // It waits for the deployment there, and does not end without that otherwise.
  await rig.reach("kiosks", await rig.rollOut("kiosks", { strategy: { done_at: 1 } }), "succeeded");
  await waitFor("the upkeep to bring it", async () => {
    const upkeep = await rig.control.store.rollouts.findUpkeep(
      ((await rig.api.get("/v1/fleets/kiosks")).body as { id: string }).id,
    );
    return upkeep?.revision === 2;
  });
  ended.resolve();
  await waitFor("it to run that", () => served.device.apps.get("web")?.image === imageOf("two"));
  await waitFor("it to be current", async () => {
    const { members } = (await rig.api.get("/v1/fleets/kiosks/members?state=current")).body as { members: object[] };
    return members.length === 2;
  });
});
