import type { Clock } from "../../lib/clock.ts";
import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import type { TargetState } from "../../protocol/rollout.ts";
import { parseSelector, type SelectorTerm } from "../../protocol/selector.ts";
import { admit } from "../core/fleets/admit.ts";
import { neededVariables } from "../core/fleets/attempt-request.ts";
import { isStillActive, placesTaken } from "../core/fleets/counts.ts";
import { REVIEW_INTERVAL_MS } from "../core/fleets/decide-attempt.ts";
import { beginAttempt } from "../core/fleets/decide-begin.ts";
import { decideTarget } from "../core/fleets/decide-target.ts";
import { failAttempt } from "../core/fleets/fail-attempt.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { unknownRevision } from "../core/fleets/fleet-mark.ts";
import { decideRollout } from "../core/fleets/progress.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { Target } from "../core/fleets/target.ts";
import type { TargetContext } from "../core/fleets/target-decision.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Sealer } from "../sealing/sealer.ts";
import {
  type FactsScope,
  type RolloutFence,
  StaleRolloutError,
  type TargetChange,
  type TargetCount,
  type TargetWithFacts,
} from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";
import type { AttemptOrder, Attempts } from "./attempts.ts";
import { readContents, type RolloutContents } from "./fleet-contents.ts";
import { syncMembers } from "./members.ts";
import { upkeepFields } from "./new-upkeep.ts";
import { rolloutEvent, stopEntry } from "./rollout-events.ts";
import { toFacts } from "./to-facts.ts";
import { WindowCache } from "./window-cache.ts";

/** Targets that are read and decided at a time. */
const BATCH = 200;
/** Longest pause without a look at what is due. */
const IDLE_MS = 60_000;
/** Every target is looked at again after this time, should an event have been missed. */
const SWEEP_INTERVAL_MS = 10 * 60_000;
/** Shortest time between two comparisons of members and targets: many assets may be tagged one after the other. */
const SYNC_INTERVAL_MS = 5_000;
/** Shortest time between two events about progress in the stream of a rollout. */
const PROGRESS_INTERVAL_MS = 2_000;
/** Codes of failures that the reason of a stop counts. */
const MAX_FAILURES_READ = 1_000;

/** States in which something may happen to a target without an event about its asset. */
const OPEN_STATES = ["pending", "waiting", "deploying", "soaking", "lost", "deferred"] as const;
const UPKEEP_ENDED = ["succeeded", "failed", "refused", "lost", "deferred", "skipped"] as const satisfies readonly TargetState[];
/** Those that have to go back when their rollout does. */
const SETTLED_STATES = ["succeeded", "failed"] as const satisfies readonly TargetState[];

export interface RunnerOptions {
  readonly store: Store;
  readonly attempts: Attempts;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly logger: Logger;
  /** Called when the fleet's stable revision or what its upkeep depends on has changed. */
  readonly onFleetChanged: (fleetId: string) => void;
}

/** What one round works with. */
interface Round {
  readonly rollout: Rollout;
  readonly fleet: Fleet;
  readonly contents: RolloutContents;
  readonly selector: readonly SelectorTerm[];
  readonly scope: FactsScope;
  readonly nowMs: number;
  readonly windows: WindowCache;
}

/** What was decided about targets and is not stored yet. */
class Decisions {
  readonly changes: TargetChange[] = [];
  readonly wanting = new Map<string, { readonly read: TargetWithFacts; readonly otherwise: Partial<Target> }>();
  readonly orders: AttemptOrder[] = [];
  readonly seen = new Set<string>();
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
  #syncedAtMs = -Infinity;
  #sweptAtMs = -Infinity;
  /** In another state of the rollout every target may have to do something else. */
  #sweptState: Rollout["state"] | undefined;
  #toldCounts = "";
  #toldAtMs = -Infinity;

  constructor(options: RunnerOptions, rolloutId: string) {
    this.#options = options;
    this.#rolloutId = rolloutId;
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

  /** Resolves when the rollout needs nobody any more, when another coordinator has taken it up, or after the signal. */
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
    const round = await this.#prepare();
    if (!round) return false;
    const hasMore = await this.#workOff(round, signal);
    const counts = await this.#options.store.rollouts.countTargets(this.#rolloutId);
    const after = await this.#progress(round, counts);
    if (!after) return false;
    if (after.version !== round.rollout.version) return true;
    await this.#tellProgress(after, counts);
    if (!isStillActive(after, counts)) {
      await this.#store(() => ({ fields: { isActive: false } }), after);
      this.#options.onFleetChanged(after.fleetId);
      return false;
    }
    if (!hasMore && !signal.aborted) await this.#wait();
    return true;
  }

  async #prepare(): Promise<Round | undefined> {
    const { store, clock, serviceClock, sealer } = this.#options;
    const rollout = this.#fence
      ? await store.rollouts.findRollout(this.#rolloutId)
      : await store.rollouts.takeUp(this.#rolloutId);
    if (!rollout || !rollout.isActive) return undefined;
    this.#fence ??= { rolloutId: rollout.id, epoch: rollout.epoch };
    if (rollout.epoch !== this.#fence.epoch) return undefined;
    const fleet = await store.fleets.findFleetById(rollout.fleetId);
    if (!fleet) return undefined;
    if (rollout.kind === "upkeep" && (await this.#followStable(rollout, fleet))) return this.#prepare();
    const key = JSON.stringify([fleet.name, rollout.revision, rollout.previousRevision]);
    if (this.#contents?.key !== key)
      this.#contents = { key, contents: await readContents(store.fleets, sealer, fleet, rollout) };
    const parsed = parseSelector(fleet.selector);
    if (!parsed.ok) throw new Error(`the selector of fleet ${fleet.id} is not valid: ${parsed.reason}`);
    const nowMs = clock.now();
    const now = Math.floor(nowMs / 1000);
    const time = { now, serviceNowMs: Math.floor(serviceClock.serviceNow()) };
    const scope = { ...time, rolloutId: rollout.id, fleetId: fleet.id, apps: fleet.apps };
    const { contents } = this.#contents;
    return {
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
  async #followStable(upkeep: Rollout, { stableRevision, strategy }: Fleet): Promise<boolean> {
    if (stableRevision === undefined) return false;
    const fields = upkeepFields({ strategy }, stableRevision);
    const isSame =
      fields.revision === upkeep.revision && JSON.stringify(fields.strategy) === JSON.stringify(upkeep.strategy);
    if (isSame) return false;
    const { rollouts } = this.#options.store;
    // Whom it has served with the earlier revision may be served again.
    if (fields.revision !== upkeep.revision) await rollouts.removeTargets(this.#requireFence(), UPKEEP_ENDED);
    await this.#store(() => ({ fields }), upkeep);
    return true;
  }

  /** Decides about targets and carries that out. Returns whether more of them are to be decided at once. */
  async #workOff(round: Round, signal: AbortSignal): Promise<boolean> {
    const { rollouts } = this.#options.store;
    const isSweepDue = round.nowMs - this.#sweptAtMs >= SWEEP_INTERVAL_MS;
    if (this.#mustSweep || isSweepDue || this.#sweptState !== round.rollout.state) {
      this.#mustSweep = false;
      this.#sweptAtMs = round.nowMs;
      this.#sweptState = round.rollout.state;
      this.#mustSync = true;
      await this.#sweepAll(round, signal);
    }
    if (this.#mustSync && round.nowMs - this.#syncedAtMs >= SYNC_INTERVAL_MS) {
      this.#mustSync = false;
      this.#syncedAtMs = round.nowMs;
      await this.#sync(round);
    }
    const dirty = [...this.#dirty].slice(0, BATCH);
    for (const asset of dirty) this.#dirty.delete(asset);
    const decisions = new Decisions();
    if (dirty.length > 0) this.#decideAll(round, await rollouts.readTargets(round.scope, dirty), decisions);
    const due = await rollouts.listDue(round.scope, round.nowMs, BATCH);
    this.#decideAll(round, due, decisions);
    await this.#carryOut(round, decisions);
    const begun = await this.#beginPending(round);
    return begun || this.#dirty.size > 0 || due.length === BATCH;
  }

  async #sync({ rollout, fleet, selector, nowMs }: Round): Promise<void> {
    const isOpen = rollout.kind === "upkeep" || rollout.state === "running" || rollout.state === "paused";
    if (!isOpen) return;
    await syncMembers({ store: this.#options.store, fence: this.#requireFence(), fleet, selector, rollout, nowMs });
  }

  /** Looks at every target that is open, or has to go back. */
  async #sweepAll(round: Round, signal: AbortSignal): Promise<void> {
    const { rollouts } = this.#options.store;
    const states = round.rollout.state === "rolling_back" ? [...OPEN_STATES, ...SETTLED_STATES] : [...OPEN_STATES, "failed" as const];
    for (const state of states) {
      let after: Pick<Target, "wave" | "assetUuid"> | undefined;
      for (;;) {
        const page = await rollouts.listInState(round.scope, state, Number.MAX_SAFE_INTEGER, BATCH, after);
        const decisions = new Decisions();
        // What may begin is found by `#beginPending`, in its order.
        this.#decideAll(round, page, decisions);
        decisions.wanting.clear();
        await this.#carryOut(round, decisions);
        after = page.at(-1)?.target;
        if (page.length < BATCH || signal.aborted) break;
      }
    }
  }

  /** Begins targets whose turn it is, as far as there are places. Returns whether there may be more. */
  async #beginPending(round: Round): Promise<boolean> {
    const { rollout } = round;
    if (rollout.state !== "running" && rollout.state !== "rolling_back") return false;
    const { rollouts } = this.#options.store;
    const counts = await rollouts.countTargets(rollout.id);
    const free = rollout.strategy.max_parallel - placesTaken(rollout, counts);
    if (free <= 0 || !counts.some(({ state, count }) => state === "pending" && count > 0)) return false;
    const upToWave = rollout.state === "rolling_back" ? Number.MAX_SAFE_INTEGER : rollout.wave;
    const decisions = new Decisions();
    let after: Pick<Target, "wave" | "assetUuid"> | undefined;
    let isEnd = false;
    while (decisions.wanting.size < free && !isEnd) {
      const page = await rollouts.listInState(round.scope, "pending", upToWave, BATCH, after);
      this.#decideAll(round, page, decisions);
      after = page.at(-1)?.target;
      isEnd = page.length < BATCH;
    }
    const hasBegun = decisions.wanting.size > 0;
    await this.#carryOut(round, decisions, counts);
    return hasBegun && !isEnd;
  }

  #decideAll(round: Round, reads: readonly TargetWithFacts[], decisions: Decisions): void {
    for (const read of reads) {
      const { target } = read;
      if (decisions.seen.has(target.assetUuid)) continue;
      decisions.seen.add(target.assetUuid);
      const decision = this.#decide(round, read);
      if (decision.kind === "request") decisions.orders.push({ target, protocol: read.facts.protocol });
      if (decision.kind === "begin") decisions.wanting.set(target.assetUuid, { read, otherwise: decision.otherwise });
      if (decision.kind === "change") decisions.changes.push(toChange(round, target, decision.fields));
    }
  }

  #decide(round: Round, read: TargetWithFacts) {
    const { contents, selector, nowMs } = round;
    const { target } = read;
    const facts = toFacts(read, { selector, neededVariables: neededVariables(contents.goals[target.direction]) });
    const unknown = unknownRevision(round.fleet, facts.report?.apps ?? []);
    if (unknown !== undefined) this.#unknownRevision ??= { assetUuid: target.assetUuid, revision: unknown };
    return decideTarget(target, facts, this.#contextOf(round, read), nowMs);
  }

  /** A device has a revision that is not on record. */
  #unknownRevision: { readonly assetUuid: string; readonly revision: number } | undefined;

  #contextOf({ rollout, contents, windows, fleet }: Round, { facts }: TargetWithFacts): TargetContext {
    // Nothing begins in a fleet that is paused.
    const state = fleet.pausedReason !== undefined && rollout.kind === "upkeep" ? "paused" : rollout.state;
    return {
      rollout: { ...rollout, state },
      goals: contents.goals,
      window: windows.stateFor(facts.report?.device),
    };
  }

  /** Stores what was decided and requests the deployments of what has begun. */
  async #carryOut(round: Round, decisions: Decisions, counts?: readonly TargetCount[]): Promise<void> {
    const { rollouts } = this.#options.store;
    const { rollout, fleet, nowMs } = round;
    const wanting = [...decisions.wanting.values()];
    const known = wanting.length > 0 ? (counts ?? (await rollouts.countTargets(rollout.id))) : [];
    const admitted = new Set(
      fleet.pausedReason === undefined
        ? admit(rollout, wanting.map(({ read }) => read.target), known).map(({ assetUuid }) => assetUuid)
        : [],
    );
    const changes = [...decisions.changes];
    const orders = [...decisions.orders];
    for (const { read, otherwise } of wanting) {
      const { target, facts } = read;
      if (!admitted.has(target.assetUuid)) {
        if (Object.keys(otherwise).length > 0) changes.push(toChange(round, target, otherwise));
        continue;
      }
      const begun = toChange(round, target, beginAttempt(target, nowMs));
      changes.push(begun);
      orders.push({ target: begun.after, protocol: facts.protocol });
    }
    if (changes.length === 0 && orders.length === 0) return;
    const beginning = { beginVersion: rollout.version, apps: fleet.apps };
    const changed = await rollouts.changeTargets(this.#requireFence(), changes, beginning);
    // What did not become `deploying`, such as because of a pause, is decided again.
    await this.#request(round, orders.filter(({ target }) => !admitted.has(target.assetUuid) || changed.has(target.assetUuid)));
  }

  async #request(round: Round, orders: readonly AttemptOrder[]): Promise<void> {
    if (orders.length === 0) return;
    const changes: TargetChange[] = [];
    try {
      await this.#options.attempts.request(round.rollout, round.contents, orders, (target, result) => {
        if (result.kind === "requested") {
          changes.push({ before: target, after: { ...target, deploymentId: result.deploymentId, dueMs: round.nowMs + REVIEW_INTERVAL_MS } });
        } else changes.push(...this.#refused(round, target, result.code, result.message));
      });
    } finally {
      await this.#options.store.rollouts.changeTargets(this.#requireFence(), changes);
    }
  }

  /** The deployment was not even accepted. */
  #refused(round: Round, target: Target, code: ErrorCode, message: string): TargetChange[] {
    const facts = {
      isConnected: true,
      protocol: undefined,
      lastSeenAtMs: undefined,
      report: undefined,
      heldUntilMs: undefined,
      conflicts: [],
      isBusy: false,
      isMember: true,
      missingVariables: [],
      deployment: undefined,
    };
    const context = { rollout: round.rollout, goals: round.contents.goals, window: round.windows.stateFor(undefined) };
    const decision = failAttempt({ target, facts, context, nowMs: round.nowMs }, { code, message, isReached: false });
    return decision.kind === "change" ? [toChange(round, target, decision.fields)] : [];
  }

  /** Lets the core decide about the rollout until there is nothing more to decide. Returns it as it is afterwards. */
  async #progress(round: Round, counts: readonly TargetCount[]): Promise<Rollout | undefined> {
    const { rollout } = round;
    if (this.#unknownRevision) await this.#pauseFleet(round, this.#unknownRevision);
    const failures = await this.#readFailures(counts);
    const decision = decideRollout(rollout, counts, failures, round.nowMs);
    if (decision.kind === "nothing") return rollout;
    const after = await this.#store(
      (current) => ({
        fields: decision.fields,
        event: rolloutEvent({ ...current, ...decision.fields }, counts, round.nowMs),
        audit: stopEntry(current, round.fleet, decision, round.nowMs),
        ...(decision.fields.state === "succeeded" && { stableRevision: current.revision }),
      }),
      rollout,
    );
    if (after && decision.kind === "finish") this.#options.onFleetChanged(after.fleetId);
    return after;
  }

  /** Stores a change of the rollout unless somebody else has changed it since it was read. */
  async #store(
    decide: (current: Rollout) => Parameters<Store["rollouts"]["updateRollout"]>[1] extends (rollout: Rollout) => infer R
      ? R
      : never,
    seen: Rollout,
  ): Promise<Rollout | undefined> {
    return this.#options.store.rollouts.updateRollout(
      this.#rolloutId,
      (current) => (current.version === seen.version ? decide(current) : undefined),
      this.#requireFence(),
    );
  }

  async #pauseFleet({ fleet, rollout, nowMs }: Round, found: { assetUuid: string; revision: number }): Promise<void> {
    this.#unknownRevision = undefined;
    const reason =
      `The device of asset ${found.assetUuid} has revision ${found.revision} of this fleet, which is not on record: the service was ` +
      "probably restored from an old backup. Make a new revision, then resume.";
    if (fleet.pausedReason === undefined) {
      await this.#options.store.fleets.updateFleet(fleet.id, (current) =>
        current.pausedReason === undefined ? { pausedReason: reason } : undefined,
      );
    }
    if (rollout.kind === "upkeep" || rollout.state !== "running") return;
    const fields = { state: "paused", reason } as const;
    await this.#store(
      (current) => ({ fields, event: rolloutEvent({ ...current, ...fields }, [], nowMs) }),
      rollout,
    );
  }

  async #readFailures(counts: readonly TargetCount[]): Promise<readonly (ErrorCode | undefined)[]> {
    const isFailure = (state: TargetState): boolean => state === "failed" || state === "lost";
    if (!counts.some(({ state, count }) => isFailure(state) && count > 0)) return [];
    const filter = { states: ["failed", "lost"] as const };
    return (await this.#options.store.rollouts.listTargets(this.#rolloutId, MAX_FAILURES_READ, filter)).map(({ code }) => code);
  }

  /** Adds an event to the stream when the counts have changed, at a limited rate. */
  async #tellProgress(rollout: Rollout, counts: readonly TargetCount[]): Promise<void> {
    if (rollout.kind === "upkeep") return;
    const nowMs = this.#options.clock.now();
    const text = JSON.stringify(counts);
    if (text === this.#toldCounts || nowMs - this.#toldAtMs < PROGRESS_INTERVAL_MS || rollout.finishedAtMs !== undefined) return;
    await this.#options.store.rollouts.addEvent(this.#requireFence(), rolloutEvent(rollout, counts, nowMs));
    this.#toldCounts = text;
    this.#toldAtMs = nowMs;
  }

  async #wait(): Promise<void> {
    const { store, clock } = this.#options;
    const dueMs = await store.rollouts.nextDue(this.#rolloutId);
    const untilDueMs = dueMs === undefined ? IDLE_MS : Math.max(0, dueMs - clock.now());
    const untilSyncMs = this.#mustSync ? Math.max(0, this.#syncedAtMs + SYNC_INTERVAL_MS - clock.now()) : IDLE_MS;
    await this.#latch.wait(clock, Math.min(IDLE_MS, untilDueMs, untilSyncMs));
  }

  #requireFence(): RolloutFence {
    if (!this.#fence) throw new Error("the rollout was not taken up");
    return this.#fence;
  }
}

/** Returns the change of a target, with what it says of its asset as a member. */
function toChange({ rollout }: Round, before: Target, fields: Partial<Target>): TargetChange {
  const after: Target = { ...before, ...fields };
  if (after.state === before.state) return { before, after };
  if (after.state === "succeeded") return { before, after, memberRevision: rollout.revision };
  if (after.state === "rolled_back") return { before, after, memberRevision: rollout.previousRevision ?? null };
  return { before, after };
}
