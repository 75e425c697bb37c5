import { acknowledgedAtMsOf, codeOf } from "../../../src/control-plane/core/deployment.ts";
import { expect } from "vitest";
import { isRolloutOver } from "../../../src/protocol/fleets/rollout-over.ts";
import { waitFor } from "../wait-for.ts";
import { type FleetRig, imageOf, type RigDevice } from "./fleet-rig.ts";
import { DEVICES, type Downtime, FLEET, KilledService, type KilledRollout, type KillPlan } from "./killed-service.ts";

/**
 * A rollout of two waves to six devices: one of them fails, one is away and returns when the others are done. It succeeds, with
 * one target failed.
 */
export async function forwardRollout(plan: KillPlan, downtime?: Downtime): Promise<KilledRollout> {
  await using service = await KilledService.start(plan, downtime);
  const { rig } = service;
  const [failing, away] = rig.devices as [RigDevice, RigDevice];
  failing.device.behave = () => ({ fail: "Unhealthy" });
  await service.disconnect(away);
  await rig.fleet(FLEET, {
    waves: [{ limit: 3, soak_s: 0 }],
    max_parallel: 2,
    stop_when: { failed: 2, min_attempted: 2 },
    attempts: 1,
  });
  await rig.revision(FLEET, "one");
  service.arm();
  const id = await rollOut(rig);
  await waitFor("the absent device to be waited for", async () => {
    const targets = await rig.targets(FLEET, id);
    return targets.some(
      ({ asset_id: asset, state, for: reason }) =>
        asset === away.uuid && state === "waiting" && reason === "connection",
    );
  });
  await waitFor("it to be back", async () => {
    await service.connect(away);
    return away.device.isConnected;
  });
  await service.reach(id, "succeeded");
  await service.disarm();
  const done = await service.reach(id, "succeeded");
  expect(done).toMatchObject({ counts: { succeeded: DEVICES - 1, failed: 1 }, wave: 2 });
  for (const { device } of rig.devices) {
    expect(new Set(device.received.map(({ images }) => images.join()))).toEqual(new Set([imageOf("one")]));
    expect(device.apps.get("web")?.image).toBe(device === failing.device ? undefined : imageOf("one"));
  }
  expect((await rig.api.get(`/v1/fleets/${FLEET}`)).body).toMatchObject({ stable_revision: 1 });
  await checkWaves(rig, id);
  await checkRecord(rig, id);
  return service;
}

/** A rollout whose first wave fails, which stops by itself and goes back to the revision before. */
export async function rolloutThatGoesBack(plan: KillPlan): Promise<KilledRollout> {
  await using service = await KilledService.start(plan);
  const { rig } = service;
  await rig.fleet(FLEET, {
    waves: [{ limit: 2, soak_s: 0 }],
    stop_when: { failed: 1, min_attempted: 1 },
    on_stop: "rollback",
    attempts: 1,
  });
  await rig.revision(FLEET, "good");
  await rig.reach(FLEET, await rig.rollOut(FLEET), "succeeded");
  await rig.revision(FLEET, "bad");
  for (const { device } of rig.devices)
    device.behave = ({ images }) => (images.includes(imageOf("bad")) ? { fail: "Unhealthy" } : "succeed");
  service.arm();
  const id = await rollOut(rig);
  await service.reach(id, "rolled_back");
  await service.disarm();
  const store = rig.control.store.rollouts;
  for (const { device, uuid } of rig.devices) {
    const [good, ...later] = device.received.map(({ images }) => images[0]);
    expect(good).toBe(imageOf("good"));
    // One that was not reached by the attempt gets the earlier revision all the same: it might have been. One whose attempt is
    // known to have failed runs the earlier revision, and needs nothing.
    const goals = later.filter((image, index) => image !== later[index - 1]);
    expect([[], [imageOf("good")], [imageOf("bad")], [imageOf("bad"), imageOf("good")]]).toContainEqual(goals);
    // Nothing of the second wave begins.
    if (later.length > 0) expect(await store.findTarget(id, uuid)).toMatchObject({ wave: 0, state: "rolled_back" });
    expect(device.apps.get("web")?.image).toBe(imageOf("good"));
  }
  expect((await rig.api.get(`/v1/fleets/${FLEET}`)).body).toMatchObject({ stable_revision: 1 });
  await checkRecord(rig, id, 1);
  return service;
}

/** As a client that asks again after an error, once it has looked whether the rollout is there. */
async function rollOut(rig: FleetRig): Promise<string> {
  const revision = Number(
    ((await rig.api.get(`/v1/fleets/${FLEET}/revisions`)).body["revisions"] as { number: number }[])[0]?.number,
  );
  return waitFor("the rollout to be made", async () => {
    const { rollouts } = (await rig.api.get(`/v1/fleets/${FLEET}/rollouts`)).body as {
      rollouts: { id: string; revision: number }[];
    };
    return rollouts.find((rollout) => rollout.revision === revision)?.id ?? rig.rollOut(FLEET);
  });
}

/** The second wave was entered after the first had ended, and none of it begun before. */
async function checkWaves({ control }: FleetRig, id: string): Promise<void> {
  const rollout = await control.store.rollouts.findRollout(id);
  const targets = await control.store.rollouts.listTargets(id, 100);
  const enteredAtMs = rollout?.waveEnteredAtMs ?? 0;
  for (const { wave, sinceMs, begunAtMs = 0 } of targets) {
    if (wave === 0) expect(sinceMs).toBeLessThanOrEqual(enteredAtMs);
    else expect(begunAtMs).toBeGreaterThanOrEqual(enteredAtMs);
  }
}

/**
 * What is on record fits together: attempts and deployments, and the stream has one end. As far as is on record, a device gets
 * a goal once: again only after an attempt that did not reach it. It may have taken that one while nobody was there to hear of
 * it, and its time was over before it could say so.
 *
 * @param before number of requests that each device got before this rollout
 */
async function checkRecord({ control, devices }: FleetRig, id: string, before = 0): Promise<void> {
  const { rollouts, deployments } = control.store;
  expect(await deployments.listUnfinished()).toEqual([]);
  for (const { uuid, device } of devices) {
    const { deployments: onRecord } = await deployments.listDeployments(uuid, 100);
    const received = device.received.map(({ deploymentId }) => deploymentId);
    expect(onRecord.map((deployment) => deployment.id)).toEqual(expect.arrayContaining(received));
    const reached = onRecord.filter(
      (deployment) => codeOf(deployment) !== "DeviceNotReachable" || acknowledgedAtMsOf(deployment) !== undefined,
    );
    const ids = reached.map((deployment) => deployment.id);
    const own = device.received.slice(before).filter(({ deploymentId }) => ids.includes(deploymentId));
    const images = own.flatMap((apply) => apply.images);
    expect(images, `${JSON.stringify(received)} of ${JSON.stringify(onRecord)}`).toEqual([...new Set(images)]);
    expect(received).toEqual(expect.arrayContaining(ids));
  }
  const { events, isOver } = await rollouts.readEvents(id, 0, 10_000);
  expect(isOver).toBe(true);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const parsed = events.map(({ json }) => JSON.parse(json) as Parameters<typeof isRolloutOver>[0]);
  expect(parsed.map(isRolloutOver)).toEqual(parsed.map((_, index) => index === parsed.length - 1));
}
