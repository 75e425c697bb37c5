import type { ErrorCode } from "../../../protocol/errors.ts";
import { waveCount } from "../../../protocol/rollout-strategy.ts";
import { countOf } from "../../../protocol/share.ts";
import type { RolloutFields, TargetCount } from "./changes.ts";
import { countTargets, isUnderWay, isUnfinished, placesTaken, settledCounts } from "./counts.ts";
import type { Rollout } from "./rollout.ts";
import { countForStop, reasonToStop } from "./stopping.ts";

/** What is to be done with a rollout. The fields are stored in the transaction in which the targets were counted. */
export type RolloutDecision =
  | { readonly kind: "nothing" }
  | { readonly kind: "enter_wave" | "stop" | "finish"; readonly fields: RolloutFields };

type Progress = Pick<
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
  rollout: Progress,
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
  rollout: Pick<Progress, "wave" | "advanceTo" | "strategy">,
  counts: readonly TargetCount[],
): boolean {
  if (isLastWave(rollout) || rollout.advanceTo === rollout.wave + 1) return false;
  const entered = counts.filter((group) => group.wave <= rollout.wave && group.count > 0);
  const isOfWave = entered.some(({ wave }) => wave === rollout.wave);
  const isManual = rollout.strategy.waves[rollout.wave]?.advance === "manual";
  return isManual && isOfWave && !entered.some((group) => holdsWave(group, false));
}

function decideWave(rollout: Progress, counts: readonly TargetCount[], nowMs: number): RolloutDecision {
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
  const reason = `Nothing has succeeded in wave ${rollout.wave + 1} (${describe(own)}). Advance and resume it to go on.`;
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
  rollout: Progress,
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
function isBlockedByLost(rollout: Progress, counts: readonly TargetCount[]): boolean {
  const isFull = placesTaken(rollout, counts) >= rollout.strategy.max_parallel;
  const present = counts.filter((group) => group.count > 0 && group.wave <= rollout.wave);
  return isFull && present.some(({ state }) => state === "pending") && !present.some(isUnderWay);
}

/**
 * Whether as many have succeeded as the strategy wants, and every other target has had its turn. What is deployed or soaks is
 * awaited, since it may still fail; what waits is not, also for a device's budget, which may take a month.
 */
function hasEnough({ strategy }: Progress, counts: readonly TargetCount[]): boolean {
  const isOpen = counts.some((group) => group.count > 0 && group.state !== "waiting" && isUnfinished(group));
  return !isOpen && countSucceeded(counts) > 0 && countSucceeded(counts) >= neededSuccesses(strategy, counts);
}

/** A target whose asset has left is none of those that a share is of. */
function neededSuccesses({ done_at: doneAt }: Progress["strategy"], counts: readonly TargetCount[]): number {
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
  { strategy, revision }: Progress,
  counts: readonly TargetCount[],
  failures: readonly (ErrorCode | undefined)[],
  nowMs: number,
): RolloutDecision {
  const counted = counts.filter((group) => group.count > 0 && group.state !== "skipped");
  const all = countTargets(counted, () => true);
  const succeeded = countSucceeded(counted);
  if (succeeded === all) return finish("succeeded", undefined, nowMs);
  if (succeeded === 0) {
    return finish("failed", `Nothing has succeeded (${describe(counts)}).${namedCodes(failures)}`, nowMs);
  }
  // What waits is left to the fleet's upkeep.
  const settled = settledCounts({ state: "succeeded" }, counted);
  const others = describe(settled.filter(({ state }) => state !== "succeeded"));
  const told = `${succeeded} of ${all} assets run revision ${revision}; ${others}.${namedCodes(failures)}`;
  const isRefused = strategy.refused === "fail" && counted.some(({ state }) => state === "refused");
  const isDone = succeeded >= neededSuccesses(strategy, counts);
  return finish(isRefused && !isDone ? "failed" : "succeeded", told, nowMs);
}

/** Going back always ends, and as `rolled_back`. */
function decideGoingBack({ reason }: Progress, counts: readonly TargetCount[], nowMs: number): RolloutDecision {
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
export function describe(counts: readonly TargetCount[]): string {
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
