import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import { type StopRule, waveCount } from "../../../protocol/fleets/rollout-strategy.ts";
import { countOf } from "../../../protocol/values/share.ts";
import type { Direction, Rollout, RolloutFields, TargetCount } from "./rollout.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import type { TargetState } from "../../../protocol/fleets/rollout.ts";

/** What is to be done with a rollout. The fields are stored in the transaction in which the targets were counted. */
export type RolloutDecision =
  | { readonly kind: "nothing" }
  | { readonly kind: "enter_wave" | "stop" | "finish"; readonly fields: RolloutFields };

type RolloutFacts = Pick<
  Rollout,
  "kind" | "revision" | "previousRevision" | "state" | "wave" | "advanceTo" | "strategy" | "acceptedFailures" | "reason"
>;

const NOTHING: RolloutDecision = { kind: "nothing" };

/** Number of codes that the reason of a stop names. */
const MAX_NAMED_CODES = 3;

/**
 * Decides what is to be done with a rollout, by the number of its targets in each state. To be repeated until it is nothing. When
 * its state becomes another, every target has to be looked at again.
 *
 * A wave is done when nothing of it and of those before is under way, soaks, or waits for its turn, a connection, a window or the
 * end of another deployment.
 * Targets that wait for people (a hold, a conflict, a variable) or for the device's zone do not hold a wave, but the end of the rollout, until they
 * are deferred. Where a person lets the next wave begin, also those that wait for one of the others stay behind.
 *
 * A wave of which nothing has succeeded is not evidence: the rollout pauses in place of entering the next one by itself.
 *
 * @param failures codes of some of the failed and lost targets, for people
 */
export function decideRollout(
  rollout: RolloutFacts,
  counts: readonly TargetCount[],
  failures: readonly (ErrorCode | undefined)[],
  nowMs: number,
): RolloutDecision {
  // Upkeep has no waves and no end.
  if (rollout.kind === "upkeep") return NOTHING;
  if (rollout.state === "rolling_back") return decideGoingBack(rollout, counts, nowMs);
  if (rollout.state !== "running") return NOTHING;
  const hasEnded = isLastWave(rollout) && !counts.some((group) => group.count > 0 && isUnfinished(group));
  const isDone = isLastWave(rollout) && hasEnough(rollout, counts);
  const reason = stopReason(rollout, counts, failures, isDone);
  if (reason !== undefined) {
    // A rollout of the stable revision has nothing to go back to.
    const goesBack = rollout.strategy.on_stop === "rollback" && rollout.revision !== rollout.previousRevision;
    // There is nothing left to pause.
    if (hasEnded && !goesBack) return finish("failed", reason, nowMs);
    return stop(goesBack ? "rolling_back" : "paused", reason);
  }
  return hasEnded || isDone ? decideEnd(rollout, counts, failures, nowMs) : decideWave(rollout, counts, nowMs);
}

/** Whether the rollout waits only for a person to let the next wave begin. */
export function awaitsAdvance(
  rollout: Pick<RolloutFacts, "wave" | "advanceTo" | "strategy">,
  counts: readonly TargetCount[],
): boolean {
  if (isLastWave(rollout) || rollout.advanceTo === rollout.wave + 1) return false;
  const entered = counts.filter((group) => group.wave <= rollout.wave && group.count > 0);
  const isOfWave = entered.some(({ wave }) => wave === rollout.wave);
  const isManual = rollout.strategy.waves[rollout.wave]?.advance === "manual";
  return isManual && isOfWave && !entered.some((group) => holdsWave(group, false));
}

function decideWave(rollout: RolloutFacts, counts: readonly TargetCount[], nowMs: number): RolloutDecision {
  if (isLastWave(rollout)) return NOTHING;
  const next = rollout.wave + 1;
  const isLetBegin = rollout.advanceTo === next;
  const entered = counts.filter((group) => group.wave <= rollout.wave && group.count > 0);
  if (entered.some((group) => holdsWave(group, isLetBegin))) return NOTHING;
  const own = entered.filter(({ wave }) => wave === rollout.wave);
  const enter = { kind: "enter_wave", fields: { wave: next, waveEnteredAtMs: nowMs, advanceTo: undefined } } as const;
  if (own.length === 0 || isLetBegin) return enter;
  if (rollout.strategy.waves[rollout.wave]?.advance === "manual") return NOTHING;
  if (own.some(({ state }) => state === "succeeded")) return enter;
  const reason = `Nothing has succeeded in wave ${rollout.wave + 1} (${describeCounts(own)}). Advance and resume it to go on.`;
  return stop("paused", reason);
}

function holdsWave({ state, waitsFor }: TargetCount, isLetBegin: boolean): boolean {
  if (state !== "waiting") return isUnfinished({ state });
  if (waitsFor === "budget") return true;
  return !isLetBegin && (waitsFor === "connection" || waitsFor === "window" || waitsFor === "deployment");
}

/**
 * Returns why a running rollout must stop; `undefined` if it may go on.
 *
 * @param isDone whether it ends otherwise, without what still waits
 */
function stopReason(
  rollout: RolloutFacts,
  counts: readonly TargetCount[],
  failures: readonly (ErrorCode | undefined)[],
  isDone: boolean,
): string | undefined {
  const { acceptedFailures, strategy } = rollout;
  const counted = countForStop(counts, rollout.wave);
  const accepted = Math.min(acceptedFailures, counted.failed);
  const reason = reasonToStop(strategy.stop_when, {
    ...counted,
    isWaveOver: counted.isWaveOver || isDone,
    failed: counted.failed - accepted,
    lost: Math.max(0, counted.lost - accepted),
  });
  if (reason !== undefined) return `${reason}${namedCodes(failures)}`;
  if (!isBlockedByLost(rollout, counts)) return undefined;
  return "All places for deployments are taken by assets that vanished during theirs. Resume it to go on without them.";
}

/** Without this, a rollout would wait for ever where `max_parallel` is low. */
function isBlockedByLost(rollout: RolloutFacts, counts: readonly TargetCount[]): boolean {
  const isFull = placesTaken(rollout, counts) >= rollout.strategy.max_parallel;
  const present = counts.filter((group) => group.count > 0 && group.wave <= rollout.wave);
  return isFull && present.some(({ state }) => state === "pending") && !present.some(isUnderWay);
}

/**
 * Whether as many have succeeded as the strategy wants, and every other target has had its turn. What is deployed or soaks is
 * awaited, since it may still fail; what waits is not, also for a device's budget, which may take a month.
 */
function hasEnough({ strategy }: RolloutFacts, counts: readonly TargetCount[]): boolean {
  const isOpen = counts.some((group) => group.count > 0 && group.state !== "waiting" && isUnfinished(group));
  return !isOpen && countSucceeded(counts) > 0 && countSucceeded(counts) >= neededSuccesses(strategy, counts);
}

/** A target whose asset has left is none of those that a share is of. */
function neededSuccesses({ done_at: doneAt }: RolloutFacts["strategy"], counts: readonly TargetCount[]): number {
  const all = countTargets(counts, ({ state }) => state !== "skipped");
  return Math.min(all, countOf(doneAt, all));
}

function countSucceeded(counts: readonly TargetCount[]): number {
  return countTargets(counts, ({ state }) => state === "succeeded");
}

/**
 * It has succeeded if as many have as the strategy wants, or there was nothing to do. Otherwise it has failed if nothing has
 * succeeded, since a revision that no member runs does not become the stable one, or if some have refused it and the strategy does
 * not allow that.
 */
function decideEnd(
  { strategy, revision }: RolloutFacts,
  counts: readonly TargetCount[],
  failures: readonly (ErrorCode | undefined)[],
  nowMs: number,
): RolloutDecision {
  const counted = counts.filter((group) => group.count > 0 && group.state !== "skipped");
  const all = countTargets(counted, () => true);
  const succeeded = countSucceeded(counted);
  if (succeeded === all) return finish("succeeded", undefined, nowMs);
  if (succeeded === 0) {
    return finish("failed", `Nothing has succeeded (${describeCounts(counts)}).${namedCodes(failures)}`, nowMs);
  }
  // What waits is left to the fleet's upkeep.
  const settled = settledCounts({ state: "succeeded" }, counted);
  const others = describeCounts(settled.filter(({ state }) => state !== "succeeded"));
  const told = `${succeeded} of ${all} assets run revision ${revision}; ${others}.${namedCodes(failures)}`;
  const isRefused = strategy.refused === "fail" && counted.some(({ state }) => state === "refused");
  const isDone = succeeded >= neededSuccesses(strategy, counts);
  return finish(isRefused && !isDone ? "failed" : "succeeded", told, nowMs);
}

/** Going back always ends, and as `rolled_back`. */
function decideGoingBack({ reason }: RolloutFacts, counts: readonly TargetCount[], nowMs: number): RolloutDecision {
  const isGoing = counts.some((group) => group.count > 0 && (isUnfinished(group) || mustStillTurn(group)));
  if (isGoing) return NOTHING;
  const stayed = countTargets(counts, hasStayed);
  const told = stayed === 0 ? reason : `${reason ?? ""} ${stayed} of the assets did not go back.`.trim();
  return finish("rolled_back", told, nowMs);
}

function hasStayed({ direction, state }: TargetCount): boolean {
  return (
    state === "lost" || (direction === "back" && (state === "failed" || state === "refused" || state === "deferred"))
  );
}

/** Lost targets are not waited for. */
function mustStillTurn({ direction, state }: TargetCount): boolean {
  return direction === "forward" && (state === "succeeded" || state === "failed" || state === "deferred");
}

/** Whether no wave comes after the one under way. */
export function isLastWave({ wave, strategy }: Pick<Rollout, "wave" | "strategy">): boolean {
  return wave >= waveCount(strategy) - 1;
}

function stop(state: "paused" | "rolling_back", reason: string): RolloutDecision {
  return { kind: "stop", fields: { state, reason } };
}

function finish(
  state: "succeeded" | "failed" | "rolled_back",
  reason: string | undefined,
  nowMs: number,
): RolloutDecision {
  return { kind: "finish", fields: { state, reason, finishedAtMs: nowMs } };
}

/** Such as "2 failed, 1 changed by hand". */
export function describeCounts(counts: readonly TargetCount[]): string {
  const states = Map.groupBy(counts, ({ state }) => state);
  return [...states]
    .map(([state, groups]) => `${countTargets(groups, () => true)} ${state.replaceAll("_", " ")}`)
    .join(", ");
}

function namedCodes(failures: readonly (ErrorCode | undefined)[]): string {
  const byCode = [...Map.groupBy(failures, (code) => code ?? "changed on the device")];
  const first = byCode.toSorted(([, one], [, other]) => other.length - one.length).slice(0, MAX_NAMED_CODES);
  return first.length === 0 ? "" : ` ${first.map(([code, all]) => `${code}: ${all.length}`).join(", ")}.`;
}

/** Adds up the counts of the groups that match. */
export function countTargets(counts: readonly TargetCount[], matches: (group: TargetCount) => boolean): number {
  return counts.reduce((total, group) => (matches(group) ? total + group.count : total), 0);
}

/** Number of targets that have failed or are lost on their way to the revision. */
export function countFailures(counts: readonly TargetCount[]): number {
  return countTargets(counts, (group) => group.direction === "forward" && isFailure(group));
}

export function isFailure({ state }: Pick<TargetCount, "state">): boolean {
  return state === "failed" || state === "lost";
}

/** Whether a deployment is under way there, as far as the service knows. */
function isUnderWay({ state, waitsFor }: Pick<TargetCount, "state" | "waitsFor">): boolean {
  return state === "deploying" || (state === "waiting" && waitsFor === "budget");
}

/** Whether something is still to happen to the target before the rollout can end. */
export function isUnfinished({ state }: Pick<TargetCount, "state">): boolean {
  return state === "pending" || state === "waiting" || state === "deploying" || state === "soaking";
}

/**
 * Number of places among `max_parallel` that are taken: by deployments under way, also those that wait for a device's budget,
 * and in a running rollout by lost targets, until a person lets the rollout go on in spite of them. Targets that soak
 * have no place: their deployments have ended, and a soak may take days. Going back and upkeep are not held up by lost devices.
 */
export function placesTaken(
  { kind, state, acceptedFailures }: Pick<Rollout, "kind" | "state" | "acceptedFailures">,
  counts: readonly TargetCount[],
): number {
  const underWay = countTargets(counts, isUnderWay);
  if (kind === "upkeep" || state === "rolling_back" || isRolloutOver({ state })) return underWay;
  const lost = countTargets(counts, (group) => group.state === "lost");
  return underWay + Math.max(0, lost - acceptedFailures);
}

/** Whether a coordinator has to look after the rollout: it is not over, or its targets are still under way. */
export function isStillActive({ state }: Pick<Rollout, "state">, counts: readonly TargetCount[]): boolean {
  return !isRolloutOver({ state }) || counts.some((group) => group.count > 0 && isUnfinished(group));
}

/**
 * Returns the counts as they will be once every target of a rollout that is over was looked at: what had not begun never does.
 * People see those at once.
 */
export function settledCounts(
  { state }: Pick<Rollout, "state">,
  counts: readonly TargetCount[],
): readonly TargetCount[] {
  if (!isRolloutOver({ state })) return counts;
  return counts.map((group) => {
    const isOpen = group.state === "pending" || (group.state === "waiting" && !isUnderWay(group));
    if (!isOpen || group.wasAttempted) return group;
    return { ...group, state: state === "succeeded" ? "deferred" : "skipped", waitsFor: undefined };
  });
}

/** Number of targets that are alike in what the rule looks at. */
interface TargetGroup {
  readonly wave: number;
  readonly state: TargetState;
  readonly direction: Direction;
  /** Whether a deployment of the rollout was begun there. */
  readonly wasAttempted: boolean;
  readonly count: number;
}

/** What the stopping rule looks at: targets of all waves. */
export interface StopCounts {
  /** Those attempted, with those under way, without those that are refused or deferred. */
  readonly attempted: number;
  /** Of these, those that have succeeded, failed or are lost. */
  readonly ended: number;
  /** Of these, those that have failed or are lost. */
  readonly failed: number;
  /** Of these, those that are lost. */
  readonly lost: number;
  /** Whether nothing is left to do in the wave under way and those before. */
  readonly isWaveOver: boolean;
}

/** States that say nothing about the revision: the device or people said no, or the device was not there. */
const NOT_COUNTED: ReadonlySet<TargetState> = new Set(["refused", "deferred", "skipped", "changed_by_hand"]);
const ENDED: ReadonlySet<TargetState> = new Set(["succeeded", "failed", "lost"]);
const OVER: ReadonlySet<TargetState> = new Set([...NOT_COUNTED, ...ENDED, "rolled_back"]);

/**
 * Counts targets for the stopping rule. A target that was deferred counts again once it is attempted after its return.
 *
 * @param wave index of the wave under way, from 0
 */
export function countForStop(groups: readonly TargetGroup[], wave: number): StopCounts {
  const forward = groups.filter(({ direction }) => direction === "forward");
  const attempted = forward.filter(({ state, wasAttempted }) => wasAttempted && !NOT_COUNTED.has(state));
  return {
    attempted: sum(attempted),
    ended: sum(attempted.filter(({ state }) => ENDED.has(state))),
    failed: sum(attempted.filter(({ state }) => state === "failed" || state === "lost")),
    lost: sum(attempted.filter(({ state }) => state === "lost")),
    isWaveOver: forward.every((group) => group.wave > wave || group.count === 0 || OVER.has(group.state)),
  };
}

/**
 * Returns why the rollout must stop, for people; `undefined` if it may go on.
 *
 * A number of failures stops it at once. A percentage is of all targets attempted, with those under way: failures mostly come
 * sooner than successes, which wait for their soak. It is judged once `min_attempted` targets have ended, and in any case when
 * the wave is over, so that a small first wave with failures is not passed.
 */
export function reasonToStop(rule: StopRule, counts: StopCounts): string | undefined {
  const { attempted, ended, failed, lost, isWaveOver } = counts;
  if (failed === 0) return undefined;
  const isShare = typeof rule.failed !== "number";
  if (isShare && ended < rule.min_attempted && !isWaveOver) return undefined;
  const limit = countOf(rule.failed, attempted);
  if (failed < limit) return undefined;
  const ofThem = lost === 0 ? "" : `, ${lost} of them lost`;
  const bound = isShare ? `${rule.failed} of those attempted, here ${limit}` : String(limit);
  return `${failed} of ${attempted} attempted assets failed${ofThem}; the rollout stops at ${bound}.`;
}

function sum(groups: readonly TargetGroup[]): number {
  return groups.reduce((total, { count }) => total + count, 0);
}
