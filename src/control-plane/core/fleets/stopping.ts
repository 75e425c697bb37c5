import type { StopRule } from "../../../protocol/rollout-strategy.ts";
import { countOf } from "../../../protocol/share.ts";
import type { TargetState } from "../../../protocol/rollout.ts";
import type { Direction } from "./target.ts";

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
