import { expect } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { isRolloutOver } from "../../../src/protocol/rollout.ts";
import { type Fate, failingStore } from "../control-plane/failing-store.ts";
import { waitFor } from "../wait-for.ts";
import { type FleetRig, imageOf, type RigDevice, startFleetRig } from "./fleet-rig.ts";

/** The parts of the store in which a rollout is on record. */
const PARTS = ["assetSettings", "fleets", "rollouts", "deployments"];
/** Reads, and what the service does from time to time whether there is a rollout or not. */
const NO_WRITE = /^(find|list|read|count|next|expireDue|removeFinished|removeOldRollouts)/;

const DEVICES = 6;
const FLEET = "kiosks";

/** An attempt that did not reach its device is repeated after a minute. Where a rollout has not ended by then, a minute passes. */
const PATIENCE_MS = 4_000;
const MINUTE_MS = 61_000;

/** Whether the service dies before the write or after it. */
export type Phase = "before" | "after";

/** Returns whether the service is killed at a write of the rollout, given its number from 1. */
export type KillPlan = (write: number) => Phase | undefined;

export interface KilledRollout {
  /** The calls that write, in order, over all lives of the service. */
  readonly writes: readonly string[];
  readonly kills: number;
}

/** A service with a fleet, that dies at writes and is started again on the same data, where its devices return. */
export class KilledService implements AsyncDisposable {
  readonly writes: string[] = [];
  kills = 0;
  readonly #plan: KillPlan;
  #rig: FleetRig | undefined;
  #isArmed = false;
  #aheadMs = 0;
  #restarting: Promise<void> = Promise.resolve();
  readonly #errors: unknown[] = [];
  /** Devices that have a power supply. */
  readonly #present = new Set<RigDevice>();

  constructor(plan: KillPlan) {
    this.#plan = plan;
  }

  static async start(plan: KillPlan): Promise<KilledService> {
    const service = new KilledService(plan);
    const clock: Clock = {
      now: () => systemClock.now() + service.#aheadMs,
      monotonic: () => systemClock.monotonic(),
      timer: (ms, callback) => systemClock.timer(ms, callback),
      sleep: (ms, signal) => systemClock.sleep(ms, signal),
    };
    service.#rig = await startFleetRig(DEVICES, {
      clock,
      decorateStore: (store) => {
        const failing = failingStore(store);
        let isDead = false;
        failing.fate = (call) => {
          if (isDead) return "refused";
          const fate = service.#fateOf(call);
          isDead = fate !== "done";
          return fate;
        };
        return failing.store;
      },
    });
    for (const device of service.rig.devices) service.#present.add(device);
    return service;
  }

  /** The device goes away. */
  async disconnect(device: RigDevice): Promise<void> {
    this.#present.delete(device);
    await device.device.disconnect();
  }

  /** The device comes back, as soon as the service is there. */
  async connect(device: RigDevice): Promise<void> {
    this.#present.add(device);
    await this.#restarting;
    if (!device.device.isConnected) await this.#reconnect(device);
  }

  get rig(): FleetRig {
    if (!this.#rig) throw new Error("the service was not started");
    return this.#rig;
  }

  /** Resolves when the rollout is in this state. */
  async reach(id: string, state: string): Promise<Record<string, unknown>> {
    let patientUntilMs = performance.now() + PATIENCE_MS;
    await waitFor(`the rollout to be ${state}`, async () => {
      if (performance.now() > patientUntilMs) {
        this.#aheadMs += MINUTE_MS;
        patientUntilMs += PATIENCE_MS;
        // The service looks at what is due when something happens.
        for (const { device } of this.#present) device.report();
      }
      const rollout = await this.rig.rollout(FLEET, id);
      if (rollout["state"] === state) return true;
      throw new Error(JSON.stringify([rollout, await this.rig.targets(FLEET, id)]));
    });
    return this.rig.rollout(FLEET, id);
  }

  arm(): void {
    this.#isArmed = true;
  }

  /** Nothing is killed from now on. Resolves when the service is there. */
  async disarm(): Promise<void> {
    this.#isArmed = false;
    await this.#restarting;
    if (this.#errors.length > 0) throw new AggregateError(this.#errors, "the service could not be started again");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isArmed = false;
    await this.#restarting;
    await this.#rig?.[Symbol.asyncDispose]();
  }

  #fateOf(call: string): Fate {
    const [part = "", method = ""] = call.split(".");
    if (!this.#isArmed || !PARTS.includes(part) || NO_WRITE.test(method)) return "done";
    this.writes.push(call);
    const phase = this.#plan(this.writes.length);
    if (phase === undefined) return "done";
    this.#isArmed = false;
    this.kills++;
    // At once: a service that is dead sends nothing.
    const leaving = [...this.#present].map(({ device }) => device.disconnect());
    this.#restarting = this.#restart(leaving).catch((error: unknown) => {
      this.#errors.push(error);
    });
    return phase === "before" ? "refused" : "result_lost";
  }

  /** The next death comes when the devices are back at the earliest. */
  async #restart(leaving: readonly Promise<void>[]): Promise<void> {
    await Promise.all(leaving);
    await this.rig.control.replace();
    await Promise.all([...this.#present].map((device) => this.#reconnect(device)));
    this.#isArmed = true;
  }

  async #reconnect({ device }: RigDevice): Promise<void> {
    await device.connect(this.rig.control.agentUrl);
  }
}

/**
 * A rollout of two waves to six devices: one of them fails, one is away and returns when the others are done. It succeeds, with
 * one target failed.
 */
export async function forwardRollout(plan: KillPlan): Promise<KilledRollout> {
  await using service = await KilledService.start(plan);
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
    expect(device.received.map(({ images }) => images)).toEqual([[imageOf("one")]]);
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
    expect([[], [imageOf("bad"), imageOf("good")]]).toContainEqual(later);
    // Nothing of the second wave begins.
    if (later.length > 0) expect(await store.findTarget(id, uuid)).toMatchObject({ wave: 0, state: "rolled_back" });
    expect(device.apps.get("web")?.image).toBe(imageOf("good"));
  }
  expect((await rig.api.get(`/v1/fleets/${FLEET}`)).body).toMatchObject({ stable_revision: 1 });
  await checkRecord(rig, id);
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

/** What is on record fits together: attempts and deployments, and the stream has one end. */
async function checkRecord({ control, devices }: FleetRig, id: string): Promise<void> {
  const { rollouts, deployments } = control.store;
  expect(await deployments.listUnfinished()).toEqual([]);
  for (const { uuid, device } of devices) {
    const page = await deployments.listDeployments(uuid, 100);
    const received = device.received.map(({ deploymentId }) => deploymentId);
    expect(page.deployments.map((deployment) => deployment.id)).toEqual(expect.arrayContaining(received));
    const others = page.deployments.filter((deployment) => !received.includes(deployment.id));
    expect(others.filter(({ status, code }) => status !== "Fail" || code !== "DeviceNotReachable")).toEqual([]);
  }
  const { events, isOver } = await rollouts.readEvents(id, 0, 10_000);
  expect(isOver).toBe(true);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const parsed = events.map(({ json }) => JSON.parse(json) as Parameters<typeof isRolloutOver>[0]);
  expect(parsed.map(isRolloutOver)).toEqual(parsed.map((_, index) => index === parsed.length - 1));
}
