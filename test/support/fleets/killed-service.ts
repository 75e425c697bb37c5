import type { Target } from "../../../src/control-plane/core/fleets/rollout.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import type { RolloutState, TargetState } from "../../../src/protocol/fleets/rollout.ts";
import { failingStore, type Fate } from "../control-plane/failing-store.ts";
import { waitFor } from "../wait-for.ts";
import { type FleetRig, type RigDevice, startFleetRig } from "./fleet-rig.ts";

/** The parts of the store in which a rollout is on record. */
const PARTS: ReadonlySet<string> = new Set(["assetSettings", "fleets", "rollouts", "deployments"]);
/** Reads, and what the service does from time to time whether there is a rollout or not. */
const NO_WRITE = /^(find|list|read|count|next|removeFinished|removeOldRollouts)/;

export const DEVICES = 6;
/** Name of its fleet. */
export const FLEET = "kiosks";

/** Longer than most pauses after an attempt that did not reach its device. */
const MINUTE_MS = 61_000;
/** States of targets in which devices and service are at work. */
const BUSY: ReadonlySet<TargetState> = new Set(["deploying", "soaking"]);

/** Longest time for a rollout to end: it includes up to thirty starts of the service, on a machine with other work. */
const REACH_MS = 280_000;

/** Whether the service dies before the write or after it. */
export type Phase = "before" | "after";

/** Returns whether the service is killed at a write of the rollout, given its number from 1 and the call. */
export type KillPlan = (write: number, call: string) => Phase | undefined;

/** What happens at each death of the service. */
export interface Downtime {
  /** How long the service is down, in milliseconds of its clock. Default 0. */
  readonly ms?: number;
  /** Whether devices come back only when what was under way has ended without them. */
  readonly areDevicesLate?: boolean;
}

export interface KilledRollout {
  /** The calls that write, in order, over all lives of the service. */
  readonly writes: readonly string[];
  readonly kills: number;
  /** The largest number of requests that a device got. */
  readonly mostAttempts: number;
}

/** A service with a fleet, that dies at writes and is started again on the same data, where its devices return. */
export class KilledService implements AsyncDisposable {
  readonly writes: string[] = [];
  kills = 0;
  readonly #plan: KillPlan;
  readonly #downtime: Downtime;
  #rig: FleetRig | undefined;
  #isArmed = false;
  #aheadMs = 0;
  #restarting: Promise<void> = Promise.resolve();
  readonly #errors: unknown[] = [];
  /** Devices that have a power supply. */
  readonly #present = new Set<RigDevice>();

  constructor(plan: KillPlan, downtime: Downtime) {
    this.#plan = plan;
    this.#downtime = downtime;
  }

  static async start(plan: KillPlan, downtime: Downtime = {}): Promise<KilledService> {
    const service = new KilledService(plan, downtime);
    const clock: Clock = {
      now: () => systemClock.now() + service.#aheadMs,
      timeOfDay: () => systemClock.now() + service.#aheadMs,
      deletionTime: () => systemClock.now() + service.#aheadMs,
      // Time that passes: without this it would be a jump, which nothing follows.
      monotonic: () => systemClock.monotonic() + service.#aheadMs,
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

  get mostAttempts(): number {
    return Math.max(...this.rig.devices.map(({ device }) => device.received.length));
  }

  get rig(): FleetRig {
    if (!this.#rig) throw new Error("the service was not started");
    return this.#rig;
  }

  /** Resolves when the rollout is in this state. */
  async reach(id: string, state: RolloutState): Promise<Record<string, unknown>> {
    await waitFor(
      `the rollout to be ${state}`,
      async () => {
        await this.#restarting;
        this.#requireStarted();
        const { rollouts } = this.rig.control.store;
        if ((await rollouts.findRollout(id))?.state === state) return true;
        const targets = await rollouts.listTargets(id, DEVICES);
        this.#passPauses(targets);
        throw new Error(targets.map((target) => JSON.stringify(target)).join("\n"));
      },
      { timeoutMs: REACH_MS },
    );
    return this.rig.rollout(FLEET, id);
  }

  /**
   * Lets a minute pass where an attempt that did not reach its device is repeated after a pause. Never while another is under
   * way, whose device would seem to take that long.
   */
  #passPauses(targets: readonly Target[]): void {
    if (targets.some(({ state }) => BUSY.has(state))) return;
    if (!targets.some(({ state, attempt }) => state === "pending" && attempt > 0)) return;
    this.#aheadMs += MINUTE_MS;
    // The service looks at what is due when something happens.
    for (const { device } of this.#present) device.report();
  }

  arm(): void {
    this.#isArmed = true;
  }

  /** Nothing is killed from now on. Resolves when the service is there. */
  async disarm(): Promise<void> {
    this.#isArmed = false;
    await this.#restarting;
    this.#requireStarted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isArmed = false;
    await this.#restarting;
    await this.#rig?.[Symbol.asyncDispose]();
  }

  #requireStarted(): void {
    if (this.#errors.length > 0) throw new AggregateError(this.#errors, "the service could not be started again");
  }

  #fateOf(call: string): Fate {
    const [part = "", method = ""] = call.split(".");
    if (!this.#isArmed || !PARTS.has(part) || NO_WRITE.test(method)) return "done";
    this.writes.push(call);
    const phase = this.#plan(this.writes.length, call);
    if (phase === undefined) return "done";
    this.#isArmed = false;
    this.kills++;
    this.#aheadMs += this.#downtime.ms ?? 0;
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
    if (this.#downtime.areDevicesLate === true) {
      const { deployments } = this.rig.control.store;
      await waitFor(
        "deployments to end without devices",
        async () => (await deployments.listUnfinished()).length === 0,
      );
    }
    await Promise.all([...this.#present].map((device) => this.#reconnect(device)));
    this.#isArmed = true;
  }

  async #reconnect({ device }: RigDevice): Promise<void> {
    await device.connect(this.rig.control.agentUrl);
  }
}
