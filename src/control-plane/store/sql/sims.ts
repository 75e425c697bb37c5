import { isDeepStrictEqual } from "node:util";
import type { SimType } from "../../../protocol/assets/sim.ts";
import type { Asset, SimState } from "../../core/asset.ts";
import { PLAN_BIT } from "../../core/attention.ts";
import { simIdentifiersOf } from "../../core/identifier.ts";
import type { AuditEntry } from "../audit.ts";
import type { DueSim, SimCheck, SimEntry, SimFilter, SimPosition, SimStore, NetworkGroupStore } from "../sims.ts";
import { ALLOWANCE_COLUMNS, type AllowanceRow, toAllowance } from "./data-plans.ts";
import { appendAssetEvent } from "./append-events.ts";
import { ASSET_COLUMNS, ASSET_JOINS, type AssetRow, pendingText, toAsset } from "./asset-row.ts";
import { recordAudit, changeWithAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

/** Words that the operator does not give anew were for the status of before. */
const SET_STATE = /* sql */ `
  UPDATE sims SET status = ?1, network_group = coalesce(?2, network_group), pending = ?3,
    next_check_at_ms = coalesce(CAST(?4 AS BIGINT), next_check_at_ms),
    operator_status = coalesce(?5, CASE WHEN status = ?1 THEN operator_status END)
  WHERE asset_uuid = ?6 AND kind = ?7`;
const FIND_STATE = "SELECT status, network_group, pending FROM sims WHERE asset_uuid = ? AND kind = ?";
const RECORD_CHECK = /* sql */ `
  UPDATE sims SET status = ?, network_group = coalesce(?, network_group), pending = ?, operator_status = ?,
    plan_due_ms = CASE WHEN allowance_bytes IS NOT DISTINCT FROM CAST(? AS BIGINT) THEN plan_due_ms ELSE 0 END,
    allowance_bytes = CAST(? AS BIGINT), is_lost = ?, checked_at_ms = CAST(? AS BIGINT), next_check_at_ms = CAST(? AS BIGINT)
  WHERE asset_uuid = ? AND kind = ?`;
const POSTPONE = "UPDATE sims SET next_check_at_ms = ? WHERE asset_uuid = ? AND kind = ?";
const LIST_DUE = /* sql */ `
  SELECT ${ASSET_COLUMNS}, d.is_lost AS is_lost FROM sims d JOIN assets a ON a.uuid = d.asset_uuid ${ASSET_JOINS}
  WHERE d.kind = ? AND d.next_check_at_ms <= ?
  ORDER BY (d.pending IS NULL), d.next_check_at_ms LIMIT ?`;
const ENTRY = /* sql */ `
  SELECT ${ASSET_COLUMNS}, d.kind AS kind, d.is_lost AS is_lost, d.operator_status AS operator_status,
    d.checked_at_ms AS checked_at_ms, ${ALLOWANCE_COLUMNS}, d.plan_used_bytes, d.plan_forecast_bytes, d.plan_as_of
  FROM assets a JOIN sims d ON d.asset_uuid = a.uuid ${ASSET_JOINS}`;
/** The position of the asset alone is one that the index of assets can begin at. */
const LIST = /* sql */ `${ENTRY}
  WHERE a.account_id = ?1 AND (a.created_at, a.uuid) >= (?2, ?3)
    AND (a.created_at, a.uuid, d.kind) > (?2, ?3, ?4) AND ?5 IN ('', d.kind)
  ORDER BY a.created_at, a.uuid, d.kind LIMIT ?6`;
/** Of the few assets whose state says so, as expressions, so that the assets of the account are not read in their order for them. */
const LIST_ATTENTION = /* sql */ `${ENTRY}
  WHERE a.uuid IN (SELECT t.asset_uuid FROM asset_states t
      WHERE t.account_id = ?1 AND t.reasons <> 0 AND (t.reasons & ${PLAN_BIT}) <> 0)
    AND (a.created_at + 0, a.uuid, d.kind) > (?2, ?3, ?4) AND ?5 IN ('', d.kind) AND d.plan_state IS NOT NULL
  ORDER BY a.created_at + 0, a.uuid, d.kind LIMIT ?6`;
const FIND = `${ENTRY} WHERE a.account_id = ? AND a.uuid = ? AND d.kind = ?`;
const FREE_IDENTIFIER = "DELETE FROM identifiers WHERE asset_uuid = ? AND value = ?";
const RELEASE = "DELETE FROM sims WHERE asset_uuid = ? AND kind = ? AND iccid = ?";
const FIND_ICCID = "SELECT asset_uuid FROM sims WHERE iccid = ? LIMIT 1";

interface StateRow {
  readonly status: string;
  readonly network_group: string | null;
  readonly pending: string | null;
}

interface EntryRow extends AssetRow, AllowanceRow {
  readonly kind: SimType;
  readonly is_lost: number;
  readonly operator_status: string | null;
  readonly checked_at_ms: number | null;
  readonly plan_used_bytes: number | null;
  readonly plan_forecast_bytes: number | null;
  readonly plan_as_of: number | null;
}

export class SqlSimStore implements SimStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async listSims(
    accountId: string,
    { type, attention }: SimFilter,
    limit: number,
    after?: SimPosition,
  ): Promise<readonly SimEntry[]> {
    const position = after ? [after.createdAt, after.assetUuid, after.type] : [-1, "", ""];
    const sql = attention === undefined ? LIST : LIST_ATTENTION;
    const rows = await this.#executor.all<EntryRow>(sql, [accountId, ...position, type ?? "", limit]);
    return rows.map(toEntry);
  }

  async findSim(accountId: string, assetUuid: string, type: SimType): Promise<SimEntry | undefined> {
    const row = await this.#executor.one<EntryRow>(FIND, [accountId, assetUuid, type]);
    return row && toEntry(row);
  }

  async setSimState(
    assetUuid: string,
    type: SimType,
    { status, networkGroup, pending }: SimState,
    audit?: AuditEntry,
    nextCheckAtMs?: number,
    operatorStatus?: string,
  ): Promise<void> {
    const told = [nextCheckAtMs ?? null, operatorStatus ?? null];
    const values = [status, networkGroup ?? null, pendingText(pending), ...told, assetUuid, type];
    await this.#executor.transact(function* (): Work<void> {
      const before = yield* one<StateRow>(FIND_STATE, [assetUuid, type]);
      if ((yield* change(SET_STATE, values)) === 0) return;
      const after = yield* one<StateRow>(FIND_STATE, [assetUuid, type]);
      if (!isDeepStrictEqual(before, after)) yield* appendAssetEvent(assetUuid, "sim.changed");
      // The operator was told in any case.
      if (audit) yield* recordAudit(audit);
    });
  }

  async recordCheck(
    assetUuid: string,
    type: SimType,
    { status, networkGroup, pending }: SimState,
    { operatorStatus, allowanceBytes, isLost, checkedAtMs, nextCheckAtMs }: SimCheck,
    audit: AuditEntry | undefined,
  ): Promise<void> {
    const state = [status, networkGroup ?? null, pendingText(pending)];
    const allowance = allowanceBytes ?? null;
    const check = [operatorStatus ?? null, allowance, allowance, isLost ? 1 : 0, checkedAtMs, nextCheckAtMs];
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* change(RECORD_CHECK, [...state, ...check, assetUuid, type])) === 0 || !audit) return;
      yield* appendAssetEvent(assetUuid, "sim.changed");
      yield* recordAudit(audit);
    });
  }

  async postponeCheck(assetUuid: string, type: SimType, nextCheckAtMs: number): Promise<void> {
    await this.#executor.change(POSTPONE, [nextCheckAtMs, assetUuid, type]);
  }

  async listDueSims(types: readonly SimType[], nowMs: number, limit: number): Promise<readonly DueSim[]> {
    const found: DueSim[] = [];
    for (const type of types) {
      const rows = await this.#executor.all<AssetRow & { readonly is_lost: number }>(LIST_DUE, [type, nowMs, limit]);
      found.push(...rows.map((row) => ({ asset: toAsset(row), type, isLost: row.is_lost === 1 })));
    }
    return found;
  }

  async releaseSim(asset: Asset, type: SimType, audit: AuditEntry): Promise<boolean> {
    const { uuid } = asset;
    const iccid = asset[type]?.iccid ?? null;
    return this.#executor.transact(function* (): Work<boolean> {
      if ((yield* change(RELEASE, [uuid, type, iccid])) === 0) return false;
      for (const { value } of simIdentifiersOf(asset, type)) yield* change(FREE_IDENTIFIER, [uuid, value]);
      yield* appendAssetEvent(uuid, "sim.changed");
      yield* recordAudit(audit);
      return true;
    });
  }

  async hasIccid(iccid: string): Promise<boolean> {
    return (await this.#executor.one(FIND_ICCID, [iccid])) !== undefined;
  }
}

function toEntry(row: EntryRow): SimEntry {
  return {
    asset: toAsset(row),
    type: row.kind,
    isLost: row.is_lost === 1,
    operatorStatus: row.operator_status ?? undefined,
    checkedAtMs: row.checked_at_ms ?? undefined,
    allowance: toAllowance(row),
    planUsage: toPlanUsage(row),
  };
}

function toPlanUsage({ plan_used_bytes: usedBytes, plan_forecast_bytes: forecastBytes, plan_as_of: asOf }: EntryRow) {
  return usedBytes === null || forecastBytes === null || asOf === null ? undefined : { usedBytes, forecastBytes, asOf };
}

const INSERT_GROUP = "INSERT INTO network_groups (account_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING";
const LIST_GROUPS = "SELECT name FROM network_groups WHERE account_id = ? ORDER BY name";

export class SqlNetworkGroupStore implements NetworkGroupStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async addNetworkGroup(accountId: string, name: string, audit?: AuditEntry): Promise<void> {
    await changeWithAudit(this.#executor, INSERT_GROUP, [accountId, name], audit);
  }

  async listNetworkGroups(accountId: string): Promise<readonly string[]> {
    const rows = await this.#executor.all<{ readonly name: string }>(LIST_GROUPS, [accountId]);
    return rows.map(({ name }) => name);
  }
}
