import type { TargetState, WaitReason } from "../../../protocol/fleets/rollout.ts";
import type { Direction, TargetCount } from "../../core/fleets/rollout.ts";
import type { TargetWait } from "../../core/fleets/rollout-commands.ts";

export const COUNT_TARGETS = /* sql */ `
  SELECT wave, state, direction, waits_for, was_attempted, count(*) AS count FROM rollout_targets WHERE rollout_id = ?
  GROUP BY wave, state, direction, waits_for, was_attempted ORDER BY wave, state, direction, waits_for, was_attempted`;

export interface CountRow {
  readonly wave: number;
  readonly state: TargetState;
  readonly direction: Direction;
  readonly waits_for: WaitReason | null;
  readonly was_attempted: number;
  readonly count: number;
}

export function toCount({ wave, state, direction, waits_for, was_attempted, count }: CountRow): TargetCount {
  return { wave, state, direction, waitsFor: waits_for ?? undefined, wasAttempted: was_attempted === 1, count };
}

/** Entries that are listed. */
const MAX_WAITS = 20;

// What is in the way differs from asset to asset only for these: others have one entry.
export const LIST_WAITS = /* sql */ `
  SELECT waits_for, message, count(*) AS count, min(since_ms) AS since_ms, min(until_ms) AS until_ms FROM (
    SELECT waits_for, CASE WHEN waits_for IN ('conflict', 'variable') THEN message END AS message,
      coalesce(away_since_ms, since_ms) AS since_ms, due_ms AS until_ms
    FROM rollout_targets WHERE rollout_id = ? AND state = 'waiting') w
  GROUP BY waits_for, message ORDER BY count(*) DESC, waits_for, message LIMIT ${MAX_WAITS}`;

export interface WaitRow {
  readonly waits_for: WaitReason;
  readonly message: string | null;
  readonly count: number;
  readonly since_ms: number;
  readonly until_ms: number | null;
}

export function toWait({ waits_for, message, count, since_ms, until_ms }: WaitRow): TargetWait {
  return {
    for: waits_for,
    count,
    sinceMs: since_ms,
    untilMs: until_ms ?? undefined,
    message: message ?? undefined,
  };
}
