import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { PastAttemptState } from "../../../protocol/fleets/rollout.ts";
import { MAX_PAST_ATTEMPTS, type PastAttempt } from "../../core/fleets/attempt.ts";
import type { Direction } from "../../core/fleets/rollout.ts";
import type { FailureCount } from "../rollouts.ts";
import type { Executor } from "./executor.ts";
import { change, type Work } from "./statement.ts";

const ATTEMPT_COLUMNS = `x.asset_uuid, x.direction, x.attempt, x.state, x.code, x.message, x.deployment_id, x.begun_at_ms,
  x.ended_at_ms, x.logs`;

interface AttemptRow {
  readonly asset_uuid: string;
  readonly direction: Direction;
  readonly attempt: number;
  readonly state: PastAttemptState;
  readonly code: ErrorCode | null;
  readonly message: string | null;
  readonly deployment_id: string | null;
  readonly begun_at_ms: number | null;
  readonly ended_at_ms: number;
  readonly logs: string | null;
}

// How an attempt has failed is known better at its end than when its target goes back.
const KEEP = /* sql */ `
  INSERT INTO rollout_attempts (rollout_id, asset_uuid, direction, attempt, state, code, message, deployment_id, begun_at_ms,
    ended_at_ms, logs)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (rollout_id, asset_uuid, direction, attempt) DO UPDATE SET state = excluded.state,
    code = coalesce(excluded.code, rollout_attempts.code), message = coalesce(excluded.message, rollout_attempts.message),
    deployment_id = coalesce(excluded.deployment_id, rollout_attempts.deployment_id),
    logs = coalesce(excluded.logs, rollout_attempts.logs)`;
/** What went wrong meanwhile stays on record. */
const AMEND = /* sql */ `
  UPDATE rollout_attempts SET state = ?1, ended_at_ms = ?2
  WHERE rollout_id = ?3 AND asset_uuid = ?4 AND direction = ?5 AND attempt = ?6`;
const REMOVE_OLD =
  "DELETE FROM rollout_attempts WHERE rollout_id = ? AND asset_uuid = ? AND direction = ? AND attempt <= ?";

const COUNT_FAILED_ATTEMPTS = /* sql */ `
  SELECT code, count(*) AS attempts, count(DISTINCT asset_uuid) AS assets FROM rollout_attempts
  WHERE rollout_id = ? AND direction = 'forward' AND state IN ('failed', 'lost')
  GROUP BY code ORDER BY attempts DESC, code`;
/** Removes the attempts of targets that are not there any more. Parameter: the rollout. */
export const REMOVE_LEFT_ATTEMPTS = /* sql */ `
  DELETE FROM rollout_attempts WHERE rollout_id = ?1
    AND asset_uuid NOT IN (SELECT asset_uuid FROM rollout_targets WHERE rollout_id = ?1)`;

interface FailureRow {
  readonly code: ErrorCode | null;
  readonly attempts: number;
  readonly assets: number;
}

/** See `RolloutStore.listAttempts`. */
export async function listAttempts(
  executor: Executor,
  rolloutId: string,
  assetUuids: readonly string[],
): Promise<ReadonlyMap<string, readonly PastAttempt[]>> {
  const sql = /* sql */ `
    SELECT ${ATTEMPT_COLUMNS} FROM rollout_attempts x
    WHERE x.rollout_id = ?1 AND x.asset_uuid IN ${executor.dialect.jsonTexts("?2")}
    ORDER BY x.ended_at_ms, x.direction DESC, x.attempt`;
  const rows = await executor.all<AttemptRow>(sql, [rolloutId, JSON.stringify(assetUuids)]);
  const groups = Map.groupBy(rows, (row) => row.asset_uuid);
  return new Map([...groups].map(([assetUuid, all]) => [assetUuid, all.map(toPastAttempt)]));
}

/** See `RolloutStore.countFailedAttempts`. */
export async function countFailedAttempts(executor: Executor, rolloutId: string): Promise<readonly FailureCount[]> {
  const rows = await executor.all<FailureRow>(COUNT_FAILED_ATTEMPTS, [rolloutId]);
  return rows.map(({ code, attempts, assets }) => ({ code: code ?? undefined, attempts, assets }));
}

/**
 * Keeps an attempt of an existing target, and no more than `MAX_PAST_ATTEMPTS` in its direction.
 *
 * @param isAmendment only corrects what became of it, if it is on record
 */
export function* keepAttempt(
  rolloutId: string,
  assetUuid: string,
  past: PastAttempt,
  isAmendment: boolean,
): Work<void> {
  const { direction, attempt, state, code, message, deploymentId, begunAtMs, endedAtMs, logs } = past;
  if (isAmendment) {
    yield* change(AMEND, [state, endedAtMs, rolloutId, assetUuid, direction, attempt]);
    return;
  }
  yield* change(KEEP, [
    rolloutId,
    assetUuid,
    direction,
    attempt,
    state,
    code ?? null,
    message ?? null,
    deploymentId ?? null,
    begunAtMs ?? null,
    endedAtMs,
    logs ?? null,
  ]);
  if (attempt > MAX_PAST_ATTEMPTS)
    yield* change(REMOVE_OLD, [rolloutId, assetUuid, direction, attempt - MAX_PAST_ATTEMPTS]);
}

function toPastAttempt(row: AttemptRow): PastAttempt {
  return {
    direction: row.direction,
    attempt: row.attempt,
    state: row.state,
    code: row.code ?? undefined,
    message: row.message ?? undefined,
    deploymentId: row.deployment_id ?? undefined,
    begunAtMs: row.begun_at_ms ?? undefined,
    endedAtMs: row.ended_at_ms,
    logs: row.logs ?? undefined,
  };
}
