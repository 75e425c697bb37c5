import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import type { Person } from "../../core/fleets/fleet.ts";
import { MAX_PLANS, type StoredPlan } from "../../core/fleets/waves.ts";
import { change, type Work } from "./statement.ts";

const COLUMNS = "id, account_id, fleet_id, revision, strategy, waves, created_by, created_at_ms, expires_at_ms";
const INSERT_PLAN = `INSERT INTO rollout_plans (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const REMOVE_EXPIRED = "DELETE FROM rollout_plans WHERE account_id = ? AND expires_at_ms <= ?";
const REMOVE_OLDEST = /* sql */ `
  DELETE FROM rollout_plans WHERE account_id = ?1 AND id NOT IN (
    SELECT id FROM rollout_plans WHERE account_id = ?1 ORDER BY created_at_ms DESC, id DESC LIMIT ?2)`;
export const FIND_PLAN = `SELECT ${COLUMNS} FROM rollout_plans WHERE id = ?`;
export const REMOVE_PLAN = "DELETE FROM rollout_plans WHERE id = ?";

export interface PlanRow {
  readonly id: string;
  readonly account_id: string;
  readonly fleet_id: string;
  readonly revision: number;
  readonly strategy: string;
  readonly waves: string;
  readonly created_by: string;
  readonly created_at_ms: number;
  readonly expires_at_ms: number;
}

export function toPlan(row: PlanRow): StoredPlan {
  return {
    id: row.id,
    accountId: row.account_id,
    fleetId: row.fleet_id,
    revision: row.revision,
    strategy: JSON.parse(row.strategy) as RolloutStrategy,
    waves: JSON.parse(row.waves) as string[][],
    createdBy: JSON.parse(row.created_by) as Person,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
  };
}

export function* createPlan(plan: StoredPlan): Work<void> {
  yield* change(REMOVE_EXPIRED, [plan.accountId, plan.createdAtMs]);
  yield* change(INSERT_PLAN, [
    plan.id,
    plan.accountId,
    plan.fleetId,
    plan.revision,
    JSON.stringify(plan.strategy),
    JSON.stringify(plan.waves),
    JSON.stringify(plan.createdBy),
    plan.createdAtMs,
    plan.expiresAtMs,
  ]);
  yield* change(REMOVE_OLDEST, [plan.accountId, MAX_PLANS]);
}
