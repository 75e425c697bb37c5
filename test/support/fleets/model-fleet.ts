import type { RolloutStrategy } from "../../../src/protocol/fleets/rollout-strategy.ts";
import { isRolloutOver } from "../../../src/protocol/fleets/rollout-over.ts";
import { admit, planWaves, type WaveMember } from "../../../src/control-plane/core/fleets/waves.ts";
import { attemptKey } from "../../../src/control-plane/core/fleets/attempt.ts";
import {
  newTarget,
  type Rollout,
  type RolloutFields,
  type Target,
  type TargetCount,
  type TargetFields,
} from "../../../src/control-plane/core/fleets/rollout.ts";
import { decideRollout, isStillActive } from "../../../src/control-plane/core/fleets/progress.ts";
import { beginAttempt, readinessOf } from "../../../src/control-plane/core/fleets/decide-begin.ts";
import type { TargetDecision } from "../../../src/control-plane/core/fleets/target-decision.ts";
import type { Goal } from "../../../src/control-plane/core/fleets/fleet.ts";
import { nextPart } from "../../../src/control-plane/core/fleets/required-agent.ts";
import { decideTarget } from "../../../src/control-plane/core/fleets/decide-target.ts";
import {
  type CommandOutcome,
  startFields,
  supersede,
} from "../../../src/control-plane/core/fleets/rollout-commands.ts";
import type { WindowState } from "../../../src/control-plane/core/fleets/windows.ts";
import type { SeededRandom } from "../chaos/seeded-random.ts";
import { FleetChecks } from "./fleet-checks.ts";
import { type Brought, ModelDevice } from "./model-device.ts";
import { agentOf, fleetGoal } from "./model-revisions.ts";
import { countsOf, type ModelRollout, randomPlan } from "./model-rollout.ts";

const HOUR_MS = 3_600_000;
const SWEEP_INTERVAL_MS = 60_000;

/** The coordinator is killed at this moment. What is stored stays. */
class Killed extends Error {}

export interface ModelOptions {
  readonly devices: number;
  readonly strategy: RolloutStrategy;
  /** Whether events may be lost; a sweep once a minute makes up for them. Otherwise only events and `dueMs` drive the coordinator. */
  readonly losesEvents: boolean;
}

/** A fleet of model devices, a store in memory, and a coordinator that does what the pure core decides. */
export class ModelFleet {
  nowMs = 1_800_000_000_000;
  readonly devices = new Map<string, ModelDevice>();
  readonly rollouts = new Map<string, ModelRollout>();
  readonly checks = new FleetChecks();
  readonly random: SeededRandom;
  readonly #options: ModelOptions;
  /** In the coordinator's memory: assets that something has happened to, with the rollout that knows of it already. */
  #woken = new Map<string, string | undefined>();
  #mustSweep = true;
  #sweptAtMs = 0;
  stableRevision: number | undefined;
  lastRevision = 0;
  /** While false, devices and people make no trouble, and nothing is killed or lost. */
  hasFaults = true;

  constructor(random: SeededRandom, options: ModelOptions) {
    this.random = random;
    this.#options = options;
    const wake = (uuid: string): void => {
      if (!this.hasFaults || !options.losesEvents || !random.chance(0.3)) this.#woken.set(uuid, undefined);
    };
    for (let index = 0; index < options.devices; index++) {
      const uuid = `asset-${String(index).padStart(3, "0")}`;
      const device = new ModelDevice(uuid, random.chance(0.9), wake);
      device.lastSeenAtMs = random.chance(0.05) ? undefined : this.nowMs;
      device.isConnected = device.lastSeenAtMs !== undefined;
      device.isZoneKnown = random.chance(0.9);
      this.devices.set(uuid, device);
    }
  }

  device(uuid: string): ModelDevice {
    const device = this.devices.get(uuid);
    if (!device) throw new Error(`no device ${uuid}`);
    return device;
  }

  get newest(): ModelRollout | undefined {
    return [...this.rollouts.values()].at(-1);
  }

  /** Starts a rollout of a new revision. Returns whether there is one. */
  startRollout(strategy: RolloutStrategy = this.#options.strategy): boolean {
    const earlier = this.newest;
    if (earlier?.record.state === "rolling_back") return false;
    const revision = ++this.lastRevision;
    if (earlier) this.#superseded(earlier, revision);
    const id = `rol_${revision}`;
    const members = [...this.devices.values()].filter(({ isMember }) => isMember);
    const targets = new Map<string, Target>();
    const previousRevision = this.stableRevision;
    const record = this.#newRecord(id, revision, previousRevision, strategy);
    const goals = { forward: fleetGoal(revision, undefined), back: fleetGoal(previousRevision, revision) };
    const rollout = { record, targets, goals, sweptState: undefined };
    const planned = planWaves(
      id,
      strategy.waves,
      members.map((device): WaveMember => {
        const readiness = readinessOf(
          goals.forward,
          device.facts(undefined, this.#isBusy(rollout, device.uuid)),
          this.nowMs,
        );
        return { assetUuid: device.uuid, type: "gateway", tags: new Map([["site", device.site]]), readiness };
      }),
    );
    this.checks.planned(record, planned);
    for (const [wave, drawn] of planned.entries())
      for (const { assetUuid } of drawn) targets.set(assetUuid, newTarget(id, assetUuid, wave, this.nowMs));
    this.rollouts.set(id, rollout);
    this.#mustSweep = true;
    return true;
  }

  command(rollout: ModelRollout, give: (record: Rollout, counts: readonly TargetCount[]) => CommandOutcome): void {
    const outcome = give(rollout.record, countsOf(rollout));
    if (outcome.kind !== "change") return;
    this.checks.commanded(rollout, outcome.fields);
    this.#change(rollout, outcome.fields);
    this.#mustSweep = true;
  }

  /** Lets time pass, at most until something happens. */
  advance(maxMs: number): void {
    const dues = [...this.rollouts.values()].flatMap(({ targets }) => [...targets.values()].map(({ dueMs }) => dueMs));
    const times = [...dues, ...[...this.devices.values()].map((device) => device.nextMs())];
    const next = Math.min(...times.filter((time) => time !== undefined && time > this.nowMs).map(Number), Infinity);
    this.nowMs = Math.min(Math.max(next, this.nowMs + 1), this.nowMs + maxMs);
    for (const device of this.devices.values()) device.tick(this.nowMs);
  }

  /** The coordinator forgets everything and begins again. */
  crash(): void {
    this.#woken = new Map();
    this.#mustSweep = true;
  }

  /** Lets the coordinator work until nothing is left to do now. */
  coordinate(): void {
    const isComplete = !this.#options.losesEvents;
    let passes = 0;
    do {
      if (++passes > 20) throw new Error("the rollouts keep waking each other");
      if (!this.#coordinateAll()) return;
    } while (this.#woken.size > 0 || this.#mustSweep);
    this.checks.rests(this);
    if (isComplete) this.#expectNothingMissed();
  }

  /** Returns false if the coordinator was killed. */
  #coordinateAll(): boolean {
    const isSweepDue = this.#options.losesEvents && this.nowMs >= this.#sweptAtMs + SWEEP_INTERVAL_MS;
    const all = this.#mustSweep || isSweepDue;
    if (all) this.#sweptAtMs = this.nowMs;
    this.#mustSweep = false;
    const woken = this.#woken;
    this.#woken = new Map();
    try {
      // They are looked after at the same time: any of them may be first.
      for (const rollout of this.random.shuffled([...this.rollouts.values()])) {
        const isFor = (uuid: string) => woken.has(uuid) && woken.get(uuid) !== rollout.record.id;
        if (rollout.record.isActive) this.#coordinateRollout(rollout, all ? () => true : isFor);
      }
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.crash();
      return false;
    }
    return true;
  }

  /** Where no event is lost, another look at all targets finds nothing to do. */
  #expectNothingMissed(): void {
    for (const rollout of this.rollouts.values()) {
      if (!rollout.record.isActive) continue;
      for (const target of rollout.targets.values()) {
        // A device that holds its report back says that without an event.
        if (this.device(target.assetUuid).reportsHeldSinceMs !== undefined) continue;
        this.checks.missed(target, this.#decisionOf(rollout, target));
      }
    }
  }

  #coordinateRollout(rollout: ModelRollout, isWoken: (uuid: string) => boolean): void {
    for (let round = 0; round < 20; round++) {
      const isSwept = rollout.sweptState === rollout.record.state;
      rollout.sweptState = rollout.record.state;
      // What happened to an asset is a reason for one look only.
      const looked = [...rollout.targets.values()].filter(
        (target) => !isSwept || (round === 0 && isWoken(target.assetUuid)) || this.#mustLook(rollout, target),
      );
      const wanting: { target: Target; otherwise: TargetFields }[] = [];
      let isChanged = false;
      for (const { assetUuid } of looked) isChanged = this.#decide(rollout, assetUuid, wanting) || isChanged;
      isChanged = this.#begin(rollout, wanting) || isChanged;
      isChanged = this.#progress(rollout) || isChanged;
      if (!isChanged) return;
    }
    throw new Error(`the coordinator does not come to rest: ${JSON.stringify([...rollout.targets.values()])}`);
  }

  #mustLook({ record }: ModelRollout, target: Target): boolean {
    if (target.dueMs !== undefined && target.dueMs <= this.nowMs) return true;
    if (target.state !== "pending" || target.dueMs !== undefined) return false;
    return target.direction === "back" || target.wave <= record.wave;
  }

  /** Returns whether something was changed. */
  #decide(rollout: ModelRollout, uuid: string, wanting: { target: Target; otherwise: TargetFields }[]): boolean {
    const target = rollout.targets.get(uuid);
    if (!target) return false;
    const decision = this.#decisionOf(rollout, target);
    this.checks.decided(target, decision, this.nowMs);
    switch (decision.kind) {
      case "nothing":
        return false;
      case "change":
        this.#changeTarget(rollout, target, decision.fields);
        return true;
      case "begin":
        wanting.push({ target, otherwise: decision.otherwise });
        return false;
      case "request":
        this.#request(rollout, target);
        return true;
    }
  }

  #decisionOf(rollout: ModelRollout, target: Target): TargetDecision {
    const device = this.device(target.assetUuid);
    const context = { rollout: rollout.record, goals: rollout.goals, window: this.#window(device) };
    const facts = device.facts(target.deploymentId, this.#isBusy(rollout, target.assetUuid));
    return decideTarget(target, facts, context, this.nowMs);
  }

  #begin(rollout: ModelRollout, wanting: readonly { target: Target; otherwise: TargetFields }[]): boolean {
    const admitted = new Set(
      admit(
        rollout.record,
        wanting.map(({ target }) => target),
        countsOf(rollout),
      ),
    );
    let isChanged = false;
    for (const { target, otherwise } of wanting) {
      const fields = admitted.has(target) ? beginAttempt(target, this.nowMs) : otherwise;
      if (Object.keys(fields).length > 0) this.#changeTarget(rollout, target, fields);
      isChanged ||= admitted.has(target);
    }
    for (const { assetUuid } of admitted) {
      this.#mayBeKilled();
      const begun = rollout.targets.get(assetUuid);
      if (begun) this.#request(rollout, begun);
    }
    return isChanged;
  }

  #request(rollout: ModelRollout, target: Target): void {
    const device = this.device(target.assetUuid);
    // The same key returns the same deployment.
    const id = attemptKey(target);
    if (!device.deployments.has(id)) {
      const brings = this.#next(rollout.goals[target.direction], device, target);
      this.checks.requested(this, rollout, target, device, brings);
      device.request(id, brings, randomPlan(this.random, brings, this.hasFaults), this.nowMs);
    }
    this.#mayBeKilled();
    this.#changeTarget(rollout, target, { deploymentId: id });
  }

  #next(goal: Goal, device: ModelDevice, { deploymentId }: Target): Brought {
    const part = nextPart(goal, device.facts(deploymentId, false).agentVersion);
    return part === "agent"
      ? { part, version: agentOf(goal.revision ?? 0) ?? 0 }
      : { part: "apps", revision: goal.revision };
  }

  #progress(rollout: ModelRollout): boolean {
    const decision = decideRollout(rollout.record, countsOf(rollout), [], this.nowMs);
    this.checks.progressed(rollout, decision);
    if (decision.kind !== "nothing") this.#change(rollout, decision.fields);
    if (rollout.record.state === "succeeded" && decision.kind === "finish")
      this.stableRevision = rollout.record.revision;
    const isActive = isStillActive(rollout.record, countsOf(rollout));
    if (isActive !== rollout.record.isActive) this.#change(rollout, { isActive });
    return decision.kind !== "nothing";
  }

  #superseded(earlier: ModelRollout, revision: number): void {
    const fields = supersede(earlier.record, revision, this.nowMs);
    if (!fields) return;
    this.#change(earlier, fields);
    for (const target of earlier.targets.values()) {
      const isBegun = target.state !== "pending" && (target.state !== "waiting" || target.waitsFor === "budget");
      if (isBegun || target.wasAttempted) continue;
      this.#changeTarget(earlier, target, {
        state: "skipped",
        waitsFor: undefined,
        dueMs: undefined,
        sinceMs: this.nowMs,
      });
    }
  }

  #change(rollout: ModelRollout, fields: RolloutFields): void {
    rollout.record = { ...rollout.record, ...fields, version: rollout.record.version + 1 };
  }

  #changeTarget(rollout: ModelRollout, before: Target, fields: TargetFields): void {
    const after = { ...before, ...fields };
    rollout.targets.set(before.assetUuid, after);
    if (before.state === "deploying" && after.state !== "deploying") this.#free(before.assetUuid, rollout.record.id);
    this.checks.changed(this, rollout, before, after);
  }

  /** The attempt of a rollout has ended: others may begin. */
  #free(uuid: string, rolloutId: string): void {
    const isKnownToOther = this.#woken.has(uuid) && this.#woken.get(uuid) !== rolloutId;
    this.#woken.set(uuid, isKnownToOther ? undefined : rolloutId);
  }

  #isBusy(rollout: ModelRollout, uuid: string): boolean {
    return [...this.rollouts.values()].some((other) => {
      const target = other === rollout ? undefined : other.targets.get(uuid);
      const deployment = this.device(uuid).deployments.get(target?.deploymentId ?? "");
      // A lost device may still have its deployment.
      return target?.state === "deploying" || deployment?.status === "Running";
    });
  }

  /** Four hours of each day, where the strategy has windows. */
  #window({ isZoneKnown }: ModelDevice): WindowState {
    const { windows } = this.newest?.record.strategy ?? this.#options.strategy;
    if (windows.length === 0) return { kind: "open", closesAtMs: undefined };
    if (!isZoneKnown) return { kind: "unknown_zone", opensAtMs: undefined };
    const day = 24 * HOUR_MS;
    const sinceMs = this.nowMs % day;
    if (sinceMs < 4 * HOUR_MS) return { kind: "open", closesAtMs: this.nowMs - sinceMs + 4 * HOUR_MS };
    return { kind: "closed", opensAtMs: this.nowMs - sinceMs + day };
  }

  #mayBeKilled(): void {
    if (this.hasFaults && this.random.chance(0.05)) throw new Killed();
  }

  #newRecord(id: string, revision: number, previousRevision: number | undefined, strategy: RolloutStrategy): Rollout {
    const fields = startFields({ strategy, approvedBy: undefined }, this.nowMs);
    return {
      id,
      accountId: "acc_1",
      fleetId: "flt_1",
      kind: "rollout",
      retryOf: undefined,
      revision,
      previousRevision,
      state: "draft",
      strategy,
      wave: 0,
      waveSizes: [],
      waveEnteredAtMs: undefined,
      advanceTo: undefined,
      acceptedFailures: 0,
      reason: undefined,
      createdBy: { kind: "user", id: "usr_1" },
      approvedBy: undefined,
      stoppedBy: undefined,
      createdAtMs: this.nowMs,
      startedAtMs: undefined,
      finishedAtMs: undefined,
      isActive: true,
      epoch: 1,
      version: 1,
      ...fields,
    };
  }

  /** Whether every rollout is over and nothing of any is under way. */
  get isAtRest(): boolean {
    return [...this.rollouts.values()].every(({ record }) => isRolloutOver(record) && !record.isActive);
  }
}
