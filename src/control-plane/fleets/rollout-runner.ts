import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import type { TargetState } from "../../protocol/fleets/rollout.ts";
import { isRolloutOver } from "../../protocol/fleets/rollout-over.ts";
import { parseSelector } from "../../protocol/fleets/selector.ts";
import { isStillActive } from "../core/fleets/progress.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Sealer } from "../sealing/sealer.ts";
import { type RolloutFence, StaleRolloutError } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";
import type { AppOutput } from "./app-output.ts";
import type { Attempts } from "./attempts.ts";
import { readContents, type RolloutContents } from "./fleet-contents.ts";
import { syncMembers } from "./members.ts";
import { upkeepFields } from "./new-upkeep.ts";
import { RolloutProgress } from "./rollout-progress.ts";
import type { Round } from "./round.ts";
import { BATCH, TargetWork, type TargetListener } from "./target-work.ts";
import { WindowCache } from "./window-cache.ts";

/** Longest pause without a look at what is due. */
const IDLE_MS = 60_000;
/** Every target is looked at again after this time, should an event have been missed. */
const SWEEP_INTERVAL_MS = 10 * 60_000;
/** Shortest time between two comparisons of members and targets: many assets may be tagged one after the other. */
const SYNC_INTERVAL_MS = 5_000;

/** States in which the upkeep has served a target, or given it up. */
const UPKEEP_ENDED = [
  "succeeded",
  "failed",
  "changed_by_hand",
  "refused",
  "lost",
  "deferred",
  "skipped",
] as const satisfies readonly TargetState[];

/** Hears what a rollout means for others. */
export interface RunnerListener extends TargetListener {
  /** Called when the fleet's stable revision may have changed. */
  readonly onFleetChanged: (fleetId: string) => void;
  /** Called when targets of a rollout that is over were settled: the fleet's upkeep may have to serve them. */
  readonly onSettled: () => void;
}

export interface RunnerOptions {
  readonly store: Store;
  readonly attempts: Attempts;
  readonly output: AppOutput;
  readonly sealer: Sealer;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly listener: RunnerListener;
}

/**
 * Looks after one rollout, or the upkeep of one fleet: reads its targets with facts, lets the core decide, stores what was decided
 * and requests deployments. It keeps nothing that is not on record: another one goes on from there at any moment.
 */
export class RolloutRunner {
  readonly #options: RunnerOptions;
  readonly #rolloutId: string;
  readonly #latch = new Latch();
  /** Assets that something happened to. */
  readonly #dirty = new Set<string>();
  #fence: RolloutFence | undefined;
  #contents: { readonly key: string; readonly contents: RolloutContents } | undefined;
  #mustSweep = true;
  #mustSync = true;
  /** In monotonic milliseconds, as `#sweptAtMs`. */
  #syncedAtMs = -Infinity;
  #sweptAtMs = -Infinity;
  /** In another state of the rollout every target may have to do something else. */
  #sweptState: Rollout["state"] | undefined;
  readonly #work: TargetWork;
  readonly #progress: RolloutProgress;

  constructor(options: RunnerOptions, rolloutId: string) {
    this.#options = options;
    this.#rolloutId = rolloutId;
    this.#work = new TargetWork(options);
    this.#progress = new RolloutProgress(options);
  }

  /** Says that something happened to an asset, or without one that the rollout was changed. */
  notify(assetUuid?: string): void {
    if (assetUuid !== undefined) this.#dirty.add(assetUuid);
    this.#latch.set();
  }

  /** Says that assets may have joined the fleet or left it. */
  notifyMembers(): void {
    this.#mustSync = true;
    this.#latch.set();
  }

  /** Every target is looked at again: events may have been missed. */
  sweep(): void {
    this.#mustSweep = true;
    this.#latch.set();
  }

  /** Resolves when the rollout needs no runner any more, when another coordinator has taken it up, or after the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const wake = (): void => this.#latch.set();
    signal.addEventListener("abort", wake);
    try {
      for (let failures = 0; !signal.aborted;) {
        try {
          if (!(await this.#round(signal))) return;
          failures = 0;
        } catch (error) {
          if (error instanceof StaleRolloutError) return;
          logStoreError(logger, error, { rollout_id: this.#rolloutId }, "cannot go on with a rollout; trying again");
          this.#mustSweep = true;
          await clock.sleep(storeRetryDelayMs(failures++, Math.random()), signal).catch(() => {});
        }
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  /** Does what is to be done now, and waits for more. Returns whether there may be more. */
  async #round(signal: AbortSignal): Promise<boolean> {
    const { store, listener } = this.#options;
    const round = await this.#prepare();
    if (!round) return false;
    const hasMore = await this.#workOff(round, signal);
    const unknown = this.#work.takeUnknownRevision();
    if (unknown && round.fleet.pausedReason === undefined) {
      await this.#progress.pauseFleet(round, unknown);
      return true;
    }
    const counts = await store.rollouts.countTargets(this.#rolloutId);
    const { after, hasEnded } = await this.#progress.decide(round, counts);
    if (hasEnded) listener.onFleetChanged(round.fleet.id);
    // The rollout is not there any more.
    if (!after) return false;
    if (after.version !== round.rollout.version) return true;
    // The counts that were not told yet, if there are any, are due then.
    const untilToldMs = await this.#progress.tell(round.fence, after, counts);
    if (!isStillActive(after, counts)) {
      await this.#progress.store(round.fence, after, () => ({ fields: { isActive: false } }));
      listener.onSettled();
      return false;
    }
    if (!hasMore && !signal.aborted) await this.#wait(untilToldMs);
    return true;
  }

  async #prepare(): Promise<Round | undefined> {
    const { store, clock, sealer } = this.#options;
    const rollout = this.#fence
      ? await store.rollouts.findRollout(this.#rolloutId)
      : await store.rollouts.takeUp(this.#rolloutId);
    if (!rollout || !rollout.isActive) return undefined;
    this.#fence ??= { rolloutId: rollout.id, epoch: rollout.epoch };
    if (rollout.epoch !== this.#fence.epoch) return undefined;
    const fleet = await store.fleets.findFleetById(rollout.fleetId);
    if (!fleet) return undefined;
    if (rollout.kind === "upkeep" && (await this.#followStable(this.#fence, rollout, fleet))) return this.#prepare();
    const key = JSON.stringify([fleet.name, fleet.apps, rollout.revision, rollout.previousRevision]);
    if (this.#contents?.key !== key)
      this.#contents = { key, contents: await readContents(store.fleets, sealer, fleet, rollout) };
    const parsed = parseSelector(fleet.selector);
    if (!parsed.ok) throw new Error(`the selector of fleet ${fleet.id} is not valid: ${parsed.reason}`);
    const nowMs = clock.now();
    const now = Math.floor(nowMs / 1000);
    const time = { now, serviceNowMs: Math.floor(clock.serviceNow()) };
    const scope = { ...time, rolloutId: rollout.id, fleetId: fleet.id, apps: fleet.apps };
    const { contents } = this.#contents;
    return {
      fence: this.#fence,
      rollout,
      fleet,
      contents,
      selector: parsed.terms,
      scope,
      nowMs,
      windows: new WindowCache(rollout.strategy, nowMs),
    };
  }

  /** Changes the upkeep to the fleet's stable revision and strategy of now. Returns whether they were others. */
  async #followStable(fence: RolloutFence, upkeep: Rollout, { stableRevision, strategy }: Fleet): Promise<boolean> {
    if (stableRevision === undefined) return false;
    const known = upkeepFields({ strategy }, stableRevision);
    const isOther = known.revision !== upkeep.revision;
    if (!isOther && JSON.stringify(known.strategy) === JSON.stringify(upkeep.strategy)) return false;
    // Attempts that were begun before were for another revision.
    const fields = isOther ? { ...known, waveEnteredAtMs: this.#options.clock.now() } : known;
    const { rollouts } = this.#options.store;
    // Members that the upkeep has served with the earlier revision are served again with this one.
    if (isOther) {
      await rollouts.removeTargets(fence, UPKEEP_ENDED);
      this.#mustSync = true;
    }
    await this.#progress.store(fence, upkeep, () => ({ fields }));
    return true;
  }

  /** Decides about targets and carries that out. Returns whether more of them are to be decided at once. */
  async #workOff(round: Round, signal: AbortSignal): Promise<boolean> {
    const { rollouts } = this.#options.store;
    const passedMs = this.#options.clock.monotonic();
    const isSweepDue = passedMs - this.#sweptAtMs >= SWEEP_INTERVAL_MS;
    if (this.#mustSweep || isSweepDue || this.#sweptState !== round.rollout.state) {
      this.#mustSweep = false;
      this.#sweptAtMs = passedMs;
      this.#sweptState = round.rollout.state;
      this.#mustSync = true;
      await this.#work.sweepAll(round, signal);
      if (isRolloutOver(round.rollout)) this.#options.listener.onSettled();
    }
    if (this.#mustSync && passedMs - this.#syncedAtMs >= SYNC_INTERVAL_MS) {
      this.#mustSync = false;
      this.#syncedAtMs = passedMs;
      await this.#sync(round);
    }
    const dirty = [...this.#dirty].slice(0, BATCH);
    for (const asset of dirty) this.#dirty.delete(asset);
    if (dirty.length > 0) await this.#work.decideTargets(round, await rollouts.readTargets(round.scope, dirty));
    const due = await rollouts.listDue(round.scope, round.nowMs, BATCH);
    await this.#work.decideTargets(round, due);
    const mayBeginMore = await this.#work.beginPending(round);
    return mayBeginMore || this.#dirty.size > 0 || due.length === BATCH;
  }

  async #sync({ fence, rollout, fleet, selector, nowMs }: Round): Promise<void> {
    const isOpen = rollout.kind === "upkeep" || rollout.state === "running" || rollout.state === "paused";
    if (!isOpen) return;
    await syncMembers({ store: this.#options.store, fence, fleet, selector, rollout, nowMs });
  }

  async #wait(untilToldMs = IDLE_MS): Promise<void> {
    const { store, clock } = this.#options;
    const dueMs = await store.rollouts.nextDue(this.#rolloutId);
    const untilDueMs = dueMs === undefined ? IDLE_MS : Math.max(0, dueMs - clock.now());
    const untilSyncMs = this.#mustSync ? Math.max(0, this.#syncedAtMs + SYNC_INTERVAL_MS - clock.monotonic()) : IDLE_MS;
    await this.#latch.wait(clock, Math.min(untilToldMs, untilDueMs, untilSyncMs));
  }
}
