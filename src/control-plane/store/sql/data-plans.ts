import type { PlanDeployments } from "../../../protocol/assets/data-plan.ts";
import type { SimType } from "../../../protocol/assets/sim.ts";
import { bitsAt, PLAN_BIT, reasonsOfBits } from "../../core/attention.ts";
import type { AuditEntry } from "../audit.ts";
import type {
  Allowance,
  DataPlanStore,
  DueDataPlan,
  DataPlanFinding,
  DataPlanUsage,
  SpentDataPlan,
} from "../data-plans.ts";
import type { Precondition } from "../precondition.ts";
import { appendAccountEvents } from "./append-events.ts";
import { ASSET_COLUMNS, ASSET_JOINS, type AssetRow, toAsset } from "./asset-row.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { lockAccount } from "./keys.ts";
import { change, one, type Work } from "./statement.ts";

/** Columns of `sims d` for `toAllowance`. */
export const ALLOWANCE_COLUMNS = "d.manual_allowance_bytes AS manual, d.allowance_bytes AS told";

const FIND_ALLOWANCE = `SELECT ${ALLOWANCE_COLUMNS} FROM sims d WHERE d.asset_uuid = ? AND d.kind = ?`;
const SET_ALLOWANCE = /* sql */ `
  UPDATE sims SET manual_allowance_bytes = CAST(?1 AS BIGINT), plan_due_ms = 0
  WHERE asset_uuid = ?2 AND kind = ?3 AND coalesce(manual_allowance_bytes, 0) <> coalesce(CAST(?1 AS BIGINT), 0)`;
/** Its condition is that of the index `sims_plan_due`. */
const LIST_DUE = /* sql */ `
  SELECT ${ASSET_COLUMNS}, d.kind, ${ALLOWANCE_COLUMNS}, d.plan_state, d.plan_until
  FROM sims d JOIN assets a ON a.uuid = d.asset_uuid ${ASSET_JOINS}
  WHERE d.plan_due_ms <= ?
    AND (d.manual_allowance_bytes IS NOT NULL OR d.allowance_bytes IS NOT NULL OR d.plan_state IS NOT NULL)
  ORDER BY d.plan_due_ms LIMIT ?`;
const FIND_FINDING = "SELECT plan_state, plan_until FROM sims WHERE asset_uuid = ? AND kind = ?";
/** All SIMs of the asset: two findings at the same time wait for each other, since its attention depends on each. */
const LOCK_SIMS = "UPDATE sims SET status = status WHERE asset_uuid = ?";
const SET_FINDING = /* sql */ `
  UPDATE sims SET plan_state = ?, plan_until = CAST(? AS BIGINT), plan_due_ms = ?,
    plan_used_bytes = coalesce(CAST(? AS BIGINT), plan_used_bytes),
    plan_forecast_bytes = coalesce(CAST(? AS BIGINT), plan_forecast_bytes),
    plan_as_of = coalesce(CAST(? AS BIGINT), plan_as_of)
  WHERE asset_uuid = ? AND kind = ?`;
const SET_ATTENTION = /* sql */ `
  UPDATE asset_states SET reasons = (reasons & ~${PLAN_BIT}) | (SELECT CASE WHEN count(*) > 0 THEN ${PLAN_BIT} ELSE 0 END
    FROM sims p WHERE p.asset_uuid = asset_states.asset_uuid AND p.plan_state IS NOT NULL)
  WHERE asset_uuid = ?
  RETURNING account_id, reasons, budget_spent_until`;
const FIND_SPENT = /* sql */ `
  SELECT kind, coalesce(manual_allowance_bytes, allowance_bytes) AS bytes, plan_until FROM sims
  WHERE asset_uuid = ? AND status = 'active' AND plan_state = 'spent' AND plan_until > ?
    AND coalesce(manual_allowance_bytes, allowance_bytes) IS NOT NULL
  ORDER BY kind LIMIT 1`;
const READ_SETTINGS = "SELECT deployments FROM data_plan_settings WHERE account_id = ?";
const SET_SETTINGS = /* sql */ `
  INSERT INTO data_plan_settings (account_id, deployments) VALUES (?, ?)
  ON CONFLICT (account_id) DO UPDATE SET deployments = excluded.deployments`;

interface FindingRow {
  readonly plan_state: DataPlanFinding["state"] | null;
  readonly plan_until: number | null;
}
interface StateRow {
  readonly account_id: string;
  readonly reasons: number;
  readonly budget_spent_until: number | null;
}

interface SettingsRow {
  readonly deployments: PlanDeployments;
}

export class SqlDataPlanStore implements DataPlanStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async findAllowance(assetUuid: string, type: SimType): Promise<Allowance | undefined> {
    const row = await this.#executor.one<AllowanceRow>(FIND_ALLOWANCE, [assetUuid, type]);
    return row && toAllowance(row);
  }

  async setAllowance(
    assetUuid: string,
    type: SimType,
    bytes: number | undefined,
    audit: AuditEntry,
    precondition?: Precondition<Allowance | undefined>,
  ): Promise<boolean> {
    const lockAllowance = `${FIND_ALLOWANCE} ${this.#executor.dialect.lockRows}`;
    return this.#executor.transact(function* (): Work<boolean> {
      const before = yield* one<AllowanceRow>(lockAllowance, [assetUuid, type]);
      precondition?.(before && toAllowance(before));
      const hasChanged = (yield* change(SET_ALLOWANCE, [bytes ?? null, assetUuid, type])) > 0;
      if (hasChanged) yield* recordAudit(audit);
      return hasChanged;
    });
  }

  async listDue(nowMs: number, limit: number): Promise<readonly DueDataPlan[]> {
    type Row = AssetRow & AllowanceRow & FindingRow & { readonly kind: SimType };
    const rows = await this.#executor.all<Row>(LIST_DUE, [nowMs, limit]);
    return rows.map((row) => ({
      asset: toAsset(row),
      type: row.kind,
      allowance: toAllowance(row),
      finding: toFinding(row),
    }));
  }

  async recordFinding(
    assetUuid: string,
    type: SimType,
    finding: DataPlanFinding | undefined,
    nextDueMs: number,
    at: number,
    usage?: DataPlanUsage,
  ): Promise<boolean> {
    const { state = null, until = null } = finding ?? {};
    const counted = [usage?.usedBytes ?? null, usage?.forecastBytes ?? null, usage?.asOf ?? null];
    return this.#executor.transact(function* (): Work<boolean> {
      if ((yield* change(LOCK_SIMS, [assetUuid])) === 0) return false;
      const before = yield* one<FindingRow>(FIND_FINDING, [assetUuid, type]);
      if (!before) return false;
      yield* change(SET_FINDING, [state, until, nextDueMs, ...counted, assetUuid, type]);
      if (before.plan_state === state) return false;
      const row = yield* one<StateRow>(SET_ATTENTION, [assetUuid]);
      if (!row) return false;
      const attention = reasonsOfBits(bitsAt(row.reasons, row.budget_spent_until, at));
      yield* appendAccountEvents(row.account_id, [{ type: "sim.changed", asset_id: assetUuid, attention }]);
      return before.plan_state === "spent";
    });
  }

  async findSpent(assetUuid: string, now: number): Promise<SpentDataPlan | undefined> {
    interface Row {
      readonly kind: SimType;
      readonly bytes: number;
      readonly plan_until: number;
    }
    const row = await this.#executor.one<Row>(FIND_SPENT, [assetUuid, now]);
    return row && { type: row.kind, allowanceBytes: row.bytes, until: row.plan_until };
  }

  async readDeployments(accountId: string): Promise<PlanDeployments> {
    const row = await this.#executor.one<SettingsRow>(READ_SETTINGS, [accountId]);
    return row?.deployments ?? "ignore";
  }

  async setDeployments(
    accountId: string,
    deployments: PlanDeployments,
    audit: AuditEntry,
    precondition?: Precondition<PlanDeployments>,
  ): Promise<void> {
    // The account: there is no row of settings before the first change.
    const lock = lockAccount(this.#executor);
    await this.#executor.transact(function* (): Work<void> {
      yield* one(lock, [accountId]);
      const before = (yield* one<SettingsRow>(READ_SETTINGS, [accountId]))?.deployments ?? "ignore";
      precondition?.(before);
      if (before === deployments) return;
      yield* change(SET_SETTINGS, [accountId, deployments]);
      yield* recordAudit(audit);
    });
  }
}

function toFinding({ plan_state: state, plan_until: until }: FindingRow): DataPlanFinding | undefined {
  return state === null ? undefined : { state, until: until ?? 0 };
}

export interface AllowanceRow {
  readonly manual: number | null;
  readonly told: number | null;
}

/** Returns what was set, or else what the operator says, if it says anything. */
export function toAllowance({ manual, told }: AllowanceRow): Allowance | undefined {
  if (manual !== null) return { bytes: manual, source: "manual" };
  return told !== null && told > 0 ? { bytes: told, source: "operator" } : undefined;
}
