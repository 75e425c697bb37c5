import type { ErrorCode } from "../../../protocol/errors.ts";
import type { TargetState, WaitReason } from "../../../protocol/rollout.ts";

/** Where a target goes: to the rollout's revision, or back to the one before. */
export type Direction = "forward" | "back";

/** A rollout's state on one asset. Times are Unix milliseconds of the shared clock. */
export interface Target {
  readonly rolloutId: string;
  readonly assetUuid: string;
  /** Index of its wave, from 0. */
  readonly wave: number;
  readonly direction: Direction;
  readonly state: TargetState;
  /** With `waiting`. */
  readonly waitsFor: WaitReason | undefined;
  /** Number of the latest attempt in this direction, from 1; 0 before the first. An attempt is one deployment. */
  readonly attempt: number;
  /**
   * How many attempts in this direction have failed on the device. Those that did not reach it do not count.
   */
  readonly failedAttempts: number;
  /** How many attempts were made before its asset was last to be served anew, such as by a reapply: these bound nothing any more. */
  readonly attemptsBefore: number;
  /** The deployment of the latest attempt; `undefined` while it is being requested. */
  readonly deploymentId: string | undefined;
  /** Whether its device was changed by the rollout, or may have been: going back has to go there. */
  readonly wasAttempted: boolean;
  /** When the latest attempt was begun. */
  readonly begunAtMs: number | undefined;
  /** While it soaks: since when all apps have been up. */
  readonly soakSinceMs: number | undefined;
  /** While it soaks: since when an app ends again and again. */
  readonly downSinceMs: number | undefined;
  /** Since when its device has been away, as far as that matters for the target. */
  readonly awaySinceMs: number | undefined;
  /** When the latest state began. */
  readonly sinceMs: number;
  /** When it must be looked at again even if nothing happens; `undefined`: only when something happens. */
  readonly dueMs: number | undefined;
  /** With `failed`, `refused` and `lost`: the code of the deployment, or of what was found. */
  readonly code: ErrorCode | undefined;
  /** What happened, for people. */
  readonly message: string | undefined;
}
