import { soakMsOf } from "../../../src/protocol/fleets/rollout-strategy.ts";
import { countOf } from "../../../src/protocol/values/share.ts";
import { isRolloutOver } from "../../../src/protocol/fleets/rollout-over.ts";
import type { Rollout, RolloutFields, Target } from "../../../src/control-plane/core/fleets/rollout.ts";
import type { RolloutDecision } from "../../../src/control-plane/core/fleets/progress.ts";
import type { TargetDecision } from "../../../src/control-plane/core/fleets/target-decision.ts";
import type { WaveMember } from "../../../src/control-plane/core/fleets/waves.ts";
import type { Brought, ModelDevice } from "./model-device.ts";
import type { ModelFleet } from "./model-fleet.ts";
import { agentOf } from "./model-revisions.ts";
import type { ModelRollout } from "./model-rollout.ts";

/** A property that a history broke. */
export class Violation extends Error {
  constructor(property: string, message: string) {
    super(`${property}: ${message}`);
    this.name = "Violation";
  }
}

/** Checks the properties of rollouts while a history runs, with nothing from the core that is checked. */
export class FleetChecks {
  /** What people have allowed, by rollout. */
  readonly #advanced = new Map<string, number>();
  readonly #goneBack = new Set<string>();
  readonly #stops = new Map<string, string>();
  /** Assets that got a deployment of the rollout on its way forward. */
  readonly #attempted = new Map<string, Set<string>>();
  readonly #sizes = new Map<string, readonly number[]>();
  successes = 0;

  /** Waves are as large as their limits say, and none takes a device that cannot be reached while another one is left. */
  planned({ id, strategy }: ModelRollout["record"], waves: readonly (readonly WaveMember[])[]): void {
    const total = waves.flat().length;
    let before = 0;
    for (const [index, { limit, by }] of strategy.waves.entries()) {
      const drawn = waves[index] ?? [];
      const left = waves.slice(index + 1).flat();
      before += drawn.length;
      if (limit !== undefined && drawn.length > 0 && before > countOf(limit, total))
        throw new Violation("limit", `${id} has ${before} of ${total} in waves up to ${index}, of ${limit}`);
      const isWasted = drawn.some(({ readiness }) => readiness !== "ready");
      if (isWasted && left.some(({ readiness }) => readiness === "ready"))
        throw new Violation("readiness", `${id}, wave ${index}: ${JSON.stringify([drawn, left])}`);
      const sites = new Set(drawn.map(({ tags }) => tags.get("site")));
      if (limit === undefined && by !== undefined && sites.size !== drawn.length)
        throw new Violation("by", `${id}, wave ${index} has a site twice: ${JSON.stringify(drawn)}`);
    }
    this.#sizes.set(
      id,
      waves.map((wave) => wave.length),
    );
  }

  commanded({ record }: ModelRollout, fields: RolloutFields): void {
    if (fields.advanceTo !== undefined) this.#advanced.set(record.id, fields.advanceTo);
    if (fields.state === "running") this.#stops.delete(record.id);
    if (fields.state === "paused" || fields.state === "cancelled") this.#stops.set(record.id, fields.state);
    if (fields.state === "rolling_back") this.#goneBack.add(record.id);
  }

  /** An overdue target that nothing is decided for would be looked at for ever. */
  decided(target: Target, decision: TargetDecision, nowMs: number): void {
    if (decision.kind !== "nothing") return;
    const isOverdue = target.dueMs !== undefined && target.dueMs <= nowMs;
    if (isOverdue) throw new Violation("due", `nothing is decided for an overdue target: ${JSON.stringify(target)}`);
  }

  /** Another look at a target finds nothing to do, except that the time of the next look or what is told may change. */
  missed(target: Target, decision: TargetDecision): void {
    const isPending = decision.kind === "begin" && target.state === "pending";
    const isState = decision.kind === "change" && (decision.fields.state ?? target.state) !== target.state;
    if (decision.kind === "nothing" || isPending || (decision.kind === "change" && !isState)) return;
    throw new Violation("missed", `${JSON.stringify(decision)} is left undone: ${JSON.stringify(target)}`);
  }

  progressed({ record, targets }: ModelRollout, decision: RolloutDecision): void {
    if (decision.kind === "stop") this.#stops.set(record.id, String(decision.fields.state));
    if (decision.kind === "enter_wave") this.#enters(record, [...targets.values()], decision.fields);
    if (decision.kind === "stop" && decision.fields.state === "rolling_back") this.#goneBack.add(record.id);
    if (decision.kind === "finish") this.#finishes(record, [...targets.values()], decision.fields);
  }

  #enters(record: ModelRollout["record"], targets: readonly Target[], fields: RolloutFields): void {
    const next = record.wave + 1;
    if (fields.wave !== next) throw new Violation("wave order", `wave ${record.wave} is followed by ${fields.wave}`);
    const isAllowed = this.#advanced.get(record.id) === next;
    const before = targets.filter(({ wave }) => wave <= record.wave);
    const own = before.filter(({ wave }) => wave === record.wave);
    const open = before.filter((target) => isOpen(target, isAllowed));
    if (open.length > 0) throw new Violation("wave order", `entered while ${JSON.stringify(open[0])} is open`);
    if (isAllowed || own.length === 0) return;
    if (record.strategy.waves[record.wave]?.advance === "manual") throw new Violation("manual", "entered by itself");
    if (!own.some(({ state }) => state === "succeeded")) throw new Violation("evidence", "entered on silence");
  }

  #finishes(record: ModelRollout["record"], targets: readonly Target[], { state }: RolloutFields): void {
    const { id } = record;
    const { done_at: doneAt } = record.strategy;
    const all = targets.filter((target) => target.state !== "skipped").length;
    const successes = targets.filter((target) => target.state === "succeeded").length;
    const isDone = state === "succeeded" && successes > 0 && successes >= Math.min(all, countOf(doneAt, all));
    const unfinished = new Set(["pending", "deploying", "soaking", ...(isDone ? [] : ["waiting"])]);
    const open = targets.find((target) => unfinished.has(target.state));
    if (open) throw new Violation("end", `the rollout ends with ${JSON.stringify(open)}`);
    if (state !== "rolled_back" && record.wave < record.strategy.waves.length)
      throw new Violation("end", `it ends in wave ${record.wave}`);
    const isRefused = record.strategy.refused === "fail" && targets.some((target) => target.state === "refused");
    if (state === "succeeded" && isRefused && !isDone)
      throw new Violation("end", "it succeeds although it was refused");
    const isBack = this.#goneBack.has(id);
    if (isBack !== (state === "rolled_back")) throw new Violation("rolled back", `it ends as ${String(state)}`);
    const unturned = targets.find((target) => target.direction === "forward" && this.#mustTurn(id, target));
    if (isBack && unturned) throw new Violation("rolled back", `stays on the revision: ${JSON.stringify(unturned)}`);
    const hasSucceeded = targets.some((target) => target.state === "succeeded");
    const wasEmpty = targets.every((target) => target.state === "skipped");
    if (state === "succeeded" && !hasSucceeded && !wasEmpty) throw new Violation("evidence", "succeeded on silence");
  }

  /** Only a device that refused, is lost, was changed by people or has left the fleet stays where it is. */
  #mustTurn(id: string, { assetUuid, state, message }: Target): boolean {
    const hasLeft = state === "skipped" && message?.startsWith("The asset has left") === true;
    return (
      this.#attempted.get(id)?.has(assetUuid) === true &&
      state !== "refused" &&
      state !== "lost" &&
      state !== "changed_by_hand" &&
      !hasLeft
    );
  }

  changed(fleet: ModelFleet, rollout: ModelRollout, before: Target, after: Target): void {
    const { record, targets } = rollout;
    if (after.state === "waiting" ? after.waitsFor === undefined : after.waitsFor !== undefined) {
      throw new Violation("shape", `waitsFor does not fit: ${JSON.stringify(after)}`);
    }
    if (after.attempt > before.attempt) {
      expectNothingInTheWay(fleet, after);
      this.#begins(fleet, record, [...targets.values()], before, after);
    }
    const ofAttempt = `:${after.assetUuid}:${after.direction}:${after.attempt}`;
    if (after.deploymentId !== undefined && !after.deploymentId.endsWith(ofAttempt)) {
      throw new Violation("attempt", `it has the deployment of another one: ${JSON.stringify(after)}`);
    }
    const isLeft = record.state === "succeeded" && record.strategy.done_at !== "100%";
    if (after.state === "deferred" && before.state !== "deferred" && !isLeft) expectLongWait(fleet, record, before);
    if (after.state !== before.state && (after.state === "succeeded" || after.state === "rolled_back")) {
      this.#succeeds(fleet, rollout, after);
    }
  }

  #begins(
    { nowMs }: ModelFleet,
    record: ModelRollout["record"],
    targets: readonly Target[],
    before: Target,
    after: Target,
  ): void {
    const stopped = this.#stops.get(record.id);
    const isBack = record.state === "rolling_back";
    if (isRolloutOver(record) || (stopped !== undefined && !isBack)) {
      throw new Violation("no begin after a stop", `${record.state}, stopped: ${stopped}`);
    }
    if (record.state !== "running" && !isBack) throw new Violation("no begin after a stop", record.state);
    if (isBack !== (after.direction === "back"))
      throw new Violation("direction", `${after.direction} while ${record.state}`);
    if (!isBack && after.wave > record.wave)
      throw new Violation("wave order", `begins in wave ${after.wave}, at ${record.wave}`);
    const isUnderWay = before.state === "deploying" || before.state === "soaking" || before.waitsFor === "budget";
    if (isUnderWay) throw new Violation("no attempt twice", JSON.stringify(before));
    const underWay = targets.filter(({ state, waitsFor }) => state === "deploying" || waitsFor === "budget").length;
    const lost = isBack
      ? 0
      : Math.max(0, targets.filter(({ state }) => state === "lost").length - record.acceptedFailures);
    if (underWay + lost > record.strategy.max_parallel)
      throw new Violation("max_parallel", `${underWay} and ${lost} lost`);
    const known = this.#attempted.get(record.id) ?? new Set();
    const room = (this.#sizes.get(record.id) ?? []).slice(0, record.wave + 1).reduce((sum, size) => sum + size, 0);
    if (!isBack && known.size + (known.has(after.assetUuid) ? 0 : 1) > room)
      throw new Violation("limit", `more than ${room} attempted in wave ${record.wave}`);
    if (after.attempt > record.strategy.attempts + 12) throw new Violation("attempts", JSON.stringify(after));
    if (after.dueMs === undefined || after.dueMs > nowMs)
      throw new Violation("due", "an attempt that begins is not due");
  }

  /** A deployment is made: no other one may be under way on the device, also of other rollouts. */
  requested(
    { rollouts }: ModelFleet,
    rollout: ModelRollout,
    target: Target,
    device: ModelDevice,
    brings: Brought,
  ): void {
    const wanted = agentOf(rollout.goals[target.direction].revision ?? 1) ?? 0;
    if (brings.part === "agent" && brings.version <= device.toldAgent)
      throw new Violation("agent", `an update to ${brings.version}, and ${device.toldAgent} runs`);
    if (brings.part === "apps" && device.toldAgent < wanted)
      throw new Violation("agent", `apps come before it: ${device.toldAgent} runs, ${wanted} is asked for`);
    if (target.direction === "forward") {
      const assets = this.#attempted.get(rollout.record.id) ?? new Set();
      this.#attempted.set(rollout.record.id, assets.add(target.assetUuid));
    }
    if (device.running) throw new Violation("no attempt twice", `${target.assetUuid} has ${device.running.id}`);
    for (const other of rollouts.values()) {
      const { state } = other.targets.get(target.assetUuid) ?? {};
      if (other !== rollout && state === "deploying")
        throw new Violation("no attempt twice", `also ${other.record.id}`);
    }
  }

  /** What runs decides: the model device has to run it, connected, and up for the whole soak. */
  #succeeds(fleet: ModelFleet, { record, goals }: ModelRollout, target: Target): void {
    this.successes++;
    const device = fleet.device(target.assetUuid);
    const { installed, isUp, isConnected, upSinceMs } = device;
    const told = JSON.stringify({ target, installed, isUp, isConnected, upSinceMs, nowMs: fleet.nowMs });
    const { revision, apps } = goals[target.direction];
    if (device.toldAgent < (agentOf(revision ?? 1) ?? 0)) throw new Violation("agent", `it is older: ${told}`);
    if (apps.length === 0) return this.#succeedsWithoutApps(fleet, record, target, told);
    // A person's stop outlasts going back.
    const isStopped = installed.isStopped && target.state !== "rolled_back";
    const isAsSpecified = installed.revision === revision && !installed.isChanged && !isStopped;
    const isThere = revision === undefined || isUp;
    if (!isAsSpecified || !isThere || !isConnected) throw new Violation("success", `it does not run it: ${told}`);
    // What a failed deployment has left there needs none to go back.
    if (target.state === "rolled_back" && target.attempt === 0) return;
    if (device.deployments.get(target.deploymentId ?? "")?.status !== "Success") throw new Violation("success", told);
    const soakMs = target.direction === "back" ? 0 : soakMsOf(record.strategy, target.wave);
    // Devices report whole seconds.
    if (revision !== undefined && fleet.nowMs - upSinceMs < soakMs - 1_000) throw new Violation("soak", told);
  }

  /** Nothing had to be done, or its agent was updated and the device has stayed connected for the whole soak. */
  #succeedsWithoutApps(fleet: ModelFleet, record: Rollout, target: Target, told: string): void {
    const device = fleet.device(target.assetUuid);
    const deployment = device.deployments.get(target.deploymentId ?? "");
    if (target.state === "rolled_back" || deployment?.status !== "Success") return;
    if (!device.isConnected) throw new Violation("success", `it is away: ${told}`);
    const soakMs = soakMsOf(record.strategy, target.wave);
    if (fleet.nowMs - (deployment.finishedAtMs ?? 0) < soakMs) throw new Violation("soak", told);
  }

  /**
   * After the coordinator came to rest: what waits is due at some time, so that nothing depends on an event, and a running rollout
   * with work left is not stuck.
   */
  rests({ nowMs, rollouts }: ModelFleet): void {
    for (const { record, targets } of rollouts.values()) {
      if (!record.isActive) continue;
      const all = [...targets.values()];
      for (const target of all) {
        const isTimed = ["waiting", "deploying", "soaking"].includes(target.state);
        const isDue = target.dueMs !== undefined && Number.isFinite(target.dueMs) && target.dueMs > nowMs;
        if (isTimed && !isDue) throw new Violation("due", `nobody looks at ${JSON.stringify(target)}`);
        expectBoundedWait(record, target, nowMs);
      }
      if (record.state !== "running" && record.state !== "rolling_back") continue;
      const pending = all.find(
        ({ state, wave, direction }) => state === "pending" && (direction === "back" || wave <= record.wave),
      );
      if (pending && !all.some(({ dueMs }) => dueMs !== undefined))
        throw new Violation("stuck", JSON.stringify(pending));
    }
  }
}

const WEEK_MS = 7 * 24 * 3_600_000;

function expectBoundedWait({ strategy }: ModelRollout["record"], target: Target, nowMs: number): void {
  if (target.state !== "waiting" || target.waitsFor === "budget") return;
  const limitMs = strategy.offline_after_s * 1000 + (strategy.windows.length > 0 ? WEEK_MS : 0);
  if (nowMs - target.sinceMs >= limitMs) throw new Violation("bounded wait", JSON.stringify(target));
}

/** Nobody is given up before its time. */
function expectLongWait(fleet: ModelFleet, { strategy }: ModelRollout["record"], before: Target): void {
  const device = fleet.device(before.assetUuid);
  const limitMs = strategy.offline_after_s * 1000;
  const isLongAway = !device.isConnected && fleet.nowMs - (device.lastSeenAtMs ?? 0) >= limitMs;
  const hasWaited = before.state === "waiting" && fleet.nowMs - before.sinceMs >= limitMs;
  if (!isLongAway && !hasWaited) throw new Violation("deferred", `too early: ${JSON.stringify(before)}`);
}

function expectNothingInTheWay(fleet: ModelFleet, target: Target): void {
  const device = fleet.device(target.assetUuid);
  const isHeld = device.heldUntilMs !== undefined && device.heldUntilMs > fleet.nowMs;
  const isFree = device.isConnected && device.isMember && !isHeld && !device.hasConflict && !device.isMissingVariables;
  if (!isFree) throw new Violation("begin", `something is in the way: ${JSON.stringify(target)}`);
}

function isOpen({ state, waitsFor }: Target, isAllowed: boolean): boolean {
  if (state === "waiting")
    return waitsFor === "budget" || (!isAllowed && ["connection", "window", "deployment"].includes(String(waitsFor)));
  return state === "pending" || state === "deploying" || state === "soaking";
}
