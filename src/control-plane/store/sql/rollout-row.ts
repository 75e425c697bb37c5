import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import type { RolloutState, TargetState, WaitReason } from "../../../protocol/fleets/rollout.ts";
import type { Person } from "../../core/fleets/fleet.ts";
import type { Direction, Rollout, Target } from "../../core/fleets/rollout.ts";
import type { Parameters } from "./statement.ts";

export const ROLLOUT_COLUMNS = `r.id, r.account_id, r.fleet_id, r.kind, r.retry_of, r.revision, r.previous_revision, r.state, r.strategy, r.wave,
  r.wave_sizes, r.wave_entered_at_ms, r.advance_to, r.accepted_failures, r.reason, r.created_by, r.approved_by, r.stopped_by, r.created_at_ms,
  r.started_at_ms, r.finished_at_ms, r.epoch, r.version, r.is_active`;

export interface RolloutRow {
  readonly id: string;
  readonly account_id: string;
  readonly fleet_id: string;
  readonly kind: Rollout["kind"];
  readonly retry_of: string | null;
  readonly revision: number;
  readonly previous_revision: number | null;
  readonly state: RolloutState;
  readonly strategy: string;
  readonly wave: number;
  readonly wave_sizes: string;
  readonly wave_entered_at_ms: number | null;
  readonly advance_to: number | null;
  readonly accepted_failures: number;
  readonly reason: string | null;
  readonly created_by: string;
  readonly approved_by: string | null;
  readonly stopped_by: string | null;
  readonly created_at_ms: number;
  readonly started_at_ms: number | null;
  readonly finished_at_ms: number | null;
  readonly epoch: number;
  readonly version: number;
  readonly is_active: number;
}

export function toRollout(row: RolloutRow): Rollout {
  return {
    id: row.id,
    accountId: row.account_id,
    fleetId: row.fleet_id,
    kind: row.kind,
    retryOf: row.retry_of ?? undefined,
    revision: row.revision,
    previousRevision: row.previous_revision ?? undefined,
    state: row.state,
    strategy: JSON.parse(row.strategy) as RolloutStrategy,
    wave: row.wave,
    waveSizes: JSON.parse(row.wave_sizes) as number[],
    waveEnteredAtMs: row.wave_entered_at_ms ?? undefined,
    advanceTo: row.advance_to ?? undefined,
    acceptedFailures: row.accepted_failures,
    reason: row.reason ?? undefined,
    createdBy: JSON.parse(row.created_by) as Person,
    approvedBy: row.approved_by === null ? undefined : (JSON.parse(row.approved_by) as Person),
    stoppedBy: row.stopped_by === null ? undefined : (JSON.parse(row.stopped_by) as Person),
    createdAtMs: row.created_at_ms,
    startedAtMs: row.started_at_ms ?? undefined,
    finishedAtMs: row.finished_at_ms ?? undefined,
    epoch: row.epoch,
    version: row.version,
    isActive: row.is_active === 1,
  };
}

/** Its parameters are the identity of a new rollout and then `rolloutValues`. */
export const INSERT_ROLLOUT = /* sql */ `
  INSERT INTO rollouts (id, account_id, fleet_id, kind, retry_of, created_by, created_at_ms, revision, previous_revision, state, strategy, wave,
    wave_sizes, wave_entered_at_ms, advance_to, accepted_failures, reason, approved_by, stopped_by, started_at_ms,
    finished_at_ms, is_active)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Its parameters are `rolloutValues` and the id. */
export const UPDATE_ROLLOUT = /* sql */ `
  UPDATE rollouts SET revision = ?, previous_revision = ?, state = ?, strategy = ?, wave = ?, wave_sizes = ?,
    wave_entered_at_ms = ?, advance_to = ?, accepted_failures = ?, reason = ?, approved_by = ?, stopped_by = ?,
    started_at_ms = ?, finished_at_ms = ?, is_active = ?, version = version + 1
  WHERE id = ?`;

/** Returns the values of what may change. */
export function rolloutValues(rollout: Rollout): Parameters {
  return [
    rollout.revision,
    rollout.previousRevision ?? null,
    rollout.state,
    JSON.stringify(rollout.strategy),
    rollout.wave,
    JSON.stringify(rollout.waveSizes),
    rollout.waveEnteredAtMs ?? null,
    rollout.advanceTo ?? null,
    rollout.acceptedFailures,
    rollout.reason ?? null,
    rollout.approvedBy ? JSON.stringify(rollout.approvedBy) : null,
    rollout.stoppedBy ? JSON.stringify(rollout.stoppedBy) : null,
    rollout.startedAtMs ?? null,
    rollout.finishedAtMs ?? null,
    Number(rollout.isActive),
  ];
}

export const TARGET_COLUMNS = `x.rollout_id, x.asset_uuid, x.wave, x.direction, x.state, x.waits_for, x.attempt, x.deployment_id,
  x.was_attempted, x.begun_at_ms, x.soak_since_ms, x.down_since_ms, x.away_since_ms, x.since_ms, x.due_ms, x.code, x.message, x.failed_attempts,
  x.attempts_before`;

export interface TargetRow {
  readonly rollout_id: string;
  readonly asset_uuid: string;
  readonly wave: number;
  readonly direction: Direction;
  readonly state: TargetState;
  readonly waits_for: WaitReason | null;
  readonly attempt: number;
  readonly failed_attempts: number;
  readonly attempts_before: number;
  readonly deployment_id: string | null;
  readonly was_attempted: number;
  readonly begun_at_ms: number | null;
  readonly soak_since_ms: number | null;
  readonly down_since_ms: number | null;
  readonly away_since_ms: number | null;
  readonly since_ms: number;
  readonly due_ms: number | null;
  readonly code: ErrorCode | null;
  readonly message: string | null;
}

export function toTarget(row: TargetRow): Target {
  return {
    rolloutId: row.rollout_id,
    assetUuid: row.asset_uuid,
    wave: row.wave,
    direction: row.direction,
    state: row.state,
    waitsFor: row.waits_for ?? undefined,
    attempt: row.attempt,
    failedAttempts: row.failed_attempts,
    attemptsBefore: row.attempts_before,
    deploymentId: row.deployment_id ?? undefined,
    wasAttempted: row.was_attempted === 1,
    begunAtMs: row.begun_at_ms ?? undefined,
    soakSinceMs: row.soak_since_ms ?? undefined,
    downSinceMs: row.down_since_ms ?? undefined,
    awaySinceMs: row.away_since_ms ?? undefined,
    sinceMs: row.since_ms,
    dueMs: row.due_ms ?? undefined,
    code: row.code ?? undefined,
    message: row.message ?? undefined,
  };
}

/** Its parameters are `targetValues` and then the rollout and the asset. The asset may have been removed. */
export const INSERT_TARGET = /* sql */ `
  INSERT INTO rollout_targets (wave, direction, state, waits_for, attempt, deployment_id, was_attempted, begun_at_ms, soak_since_ms,
    down_since_ms, away_since_ms, since_ms, due_ms, code, message, failed_attempts, attempts_before, rollout_id, asset_uuid)
  SELECT CAST(?1 AS INTEGER), CAST(?2 AS TEXT), CAST(?3 AS TEXT), CAST(?4 AS TEXT), CAST(?5 AS INTEGER), CAST(?6 AS TEXT),
    CAST(?7 AS SMALLINT), CAST(?8 AS BIGINT), CAST(?9 AS BIGINT), CAST(?10 AS BIGINT), CAST(?11 AS BIGINT), CAST(?12 AS BIGINT),
    CAST(?13 AS BIGINT), CAST(?14 AS TEXT), CAST(?15 AS TEXT), CAST(?16 AS INTEGER), CAST(?17 AS INTEGER),
    CAST(?18 AS TEXT), a.uuid
  FROM assets a WHERE a.uuid = ?19
  ON CONFLICT (rollout_id, asset_uuid) DO NOTHING`;

/** Its parameters are `targetValues`, the rollout and the asset, and what the target must be like before. */
export const UPDATE_TARGET = /* sql */ `
  UPDATE rollout_targets SET wave = ?, direction = ?, state = ?, waits_for = ?, attempt = ?, deployment_id = ?, was_attempted = ?,
    begun_at_ms = ?, soak_since_ms = ?, down_since_ms = ?, away_since_ms = ?, since_ms = ?, due_ms = ?, code = ?, message = ?,
    failed_attempts = ?, attempts_before = ?
  WHERE rollout_id = ? AND asset_uuid = ? AND state = ? AND attempt = ? AND direction = ?`;

export function targetValues(target: Target): Parameters {
  return [
    target.wave,
    target.direction,
    target.state,
    target.waitsFor ?? null,
    target.attempt,
    target.deploymentId ?? null,
    Number(target.wasAttempted),
    target.begunAtMs ?? null,
    target.soakSinceMs ?? null,
    target.downSinceMs ?? null,
    target.awaySinceMs ?? null,
    target.sinceMs,
    target.dueMs ?? null,
    target.code ?? null,
    target.message ?? null,
    target.failedAttempts,
    target.attemptsBefore,
    target.rolloutId,
    target.assetUuid,
  ];
}
