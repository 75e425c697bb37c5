import { type RolloutStrategy, waveCount } from "../../../protocol/fleets/rollout-strategy.ts";
import type { RolloutState, TargetState, WaitReason } from "../../../protocol/fleets/rollout.ts";
import type { Person } from "./fleet.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";

/** The record of a rollout. Times are Unix milliseconds. */
export interface Rollout {
  readonly id: string;
  readonly accountId: string;
  readonly fleetId: string;
  /**
   * `upkeep`: the one of each fleet that brings single members to its stable revision outside of rollouts: those that joined,
   * that were deferred, or that a person wants repaired. It is never over.
   */
  readonly kind: "rollout" | "upkeep";
  /** The rollout whose failed assets alone it takes; `undefined`: it takes all members. */
  readonly retryOf: string | undefined;
  /** What it brings to the members. */
  readonly revision: number;
  /** The fleet's `stableRevision` when it was made: what going back goes to. `undefined`: its apps are removed. */
  readonly previousRevision: number | undefined;
  readonly state: RolloutState;
  /** The strategy of the fleet when it was made, with what the request changed. */
  readonly strategy: RolloutStrategy;
  /** Index of the wave that is under way, from 0. */
  readonly wave: number;
  /** Number of targets in each wave when it was started. */
  readonly waveSizes: readonly number[];
  readonly waveEnteredAtMs: number | undefined;
  /** Index of the next wave, once a person has let it begin. Counts once, for the wave after `wave`. */
  readonly advanceTo: number | undefined;
  /**
   * Number of failed and lost targets when a person last let it go on: these do not stop it again, and those of them that are
   * lost do not keep their place among `max_parallel` any more. 0: it was never resumed.
   */
  readonly acceptedFailures: number;
  /** Why it is paused, going back or ended, for people; `undefined` if there is nothing to say. */
  readonly reason: string | undefined;
  readonly createdBy: Person;
  readonly approvedBy: Person | undefined;
  /** Who paused it or had it go back; `undefined`: it stopped by itself, or has not stopped. */
  readonly stoppedBy: Person | undefined;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** Whether a coordinator looks after it: it is not over, or targets of it are still under way. */
  readonly isActive: boolean;
  /** Raised by each coordinator that takes it up. A write of an earlier one changes nothing. */
  readonly epoch: number;
  /** 1 at creation, incremented with each change of the record, not of its targets. */
  readonly version: number;
}

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
    | "stoppedBy"
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

type Given =
  | "id"
  | "accountId"
  | "fleetId"
  | "kind"
  | "revision"
  | "previousRevision"
  | "strategy"
  | "waveSizes"
  | "createdBy";

/** Returns the record of a rollout that nothing has happened to: a draft. */
export function newRollout(given: Pick<Rollout, Given> & Partial<Pick<Rollout, "retryOf">>, nowMs: number): Rollout {
  return {
    retryOf: undefined,
    state: "draft",
    wave: 0,
    waveEnteredAtMs: undefined,
    advanceTo: undefined,
    acceptedFailures: 0,
    reason: undefined,
    approvedBy: undefined,
    stoppedBy: undefined,
    createdAtMs: nowMs,
    startedAtMs: undefined,
    finishedAtMs: undefined,
    isActive: true,
    epoch: 0,
    version: 1,
    ...given,
  };
}

/** Returns the record of a target that nothing has happened to. @param wave its index, from 0 */
export function newTarget(rolloutId: string, assetUuid: string, wave: number, nowMs: number): Target {
  return {
    rolloutId,
    assetUuid,
    wave,
    direction: "forward",
    state: "pending",
    waitsFor: undefined,
    attempt: 0,
    failedAttempts: 0,
    attemptsBefore: 0,
    deploymentId: undefined,
    wasAttempted: false,
    begunAtMs: undefined,
    soakSinceMs: undefined,
    downSinceMs: undefined,
    awaySinceMs: undefined,
    sinceMs: nowMs,
    dueMs: undefined,
    code: undefined,
    message: undefined,
  };
}

/** Returns the target of an asset that joined the fleet during the rollout: it is in the last wave. */
export function lateTarget(
  { id, strategy }: Pick<Rollout, "id" | "strategy">,
  assetUuid: string,
  nowMs: number,
): Target {
  return newTarget(id, assetUuid, waveCount(strategy) - 1, nowMs);
}

/** Returns a new target in the place of one that was served: attempts go on being numbered, since past ones are on record by that. */
export function againAfter(target: Target, { attempt }: Pick<Target, "attempt">): Target {
  return { ...target, attempt, attemptsBefore: attempt };
}
