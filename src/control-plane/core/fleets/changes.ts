import type { TargetState, WaitReason } from "../../../protocol/rollout.ts";
import type { Rollout } from "./rollout.ts";
import type { Direction, Target } from "./target.ts";

/** What a change of a rollout may change. */
export type RolloutFields = Partial<
  Pick<
    Rollout,
    | "revision"
    | "previousRevision"
    | "state"
    | "strategy"
    | "wave"
    | "waveSizes"
    | "waveEnteredAtMs"
    | "advanceTo"
    | "acceptedFailures"
    | "reason"
    | "approvedBy"
    | "startedAtMs"
    | "finishedAtMs"
    | "isActive"
  >
>;

/** What a change of a target may change. */
export type TargetFields = Partial<Omit<Target, "rolloutId" | "assetUuid">>;

/** Number of targets by what the rules need to know. */
export interface TargetCount {
  readonly wave: number;
  readonly state: TargetState;
  readonly direction: Direction;
  readonly waitsFor: WaitReason | undefined;
  /** Whether it was attempted. */
  readonly wasAttempted: boolean;
  readonly count: number;
}
