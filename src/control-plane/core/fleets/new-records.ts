import { waveCount } from "../../../protocol/rollout-strategy.ts";
import type { Rollout } from "./rollout.ts";
import type { Target } from "./target.ts";

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
