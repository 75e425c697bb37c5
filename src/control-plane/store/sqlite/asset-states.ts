import type { DatabaseSync } from "node:sqlite";
import { prepare } from "../../../lib/sqlite.ts";
import type { AttentionReason } from "../../../protocol/assets/attention.ts";
import { assetEffectOf } from "../../core/account-event.ts";
import {
  ACCEPTANCE_BIT,
  bitsAt,
  bitsOfReport,
  bitsToldBy,
  BUDGET_BIT,
  OUTCOME_BITS,
  reasonsOfBits,
  WAITING_BIT,
} from "../../core/attention.ts";
import type { Deployment } from "../../core/deployment.ts";
import type { DeviceReport } from "../../core/device-report.ts";
import type { NewSession, SessionFence } from "../sessions.ts";
import type { SqliteAccountEventStore } from "./account-events.ts";

interface StateRow {
  readonly account_id: string;
  readonly asset_uuid: string;
  readonly reasons: number;
  readonly budget_spent_until: number | null;
  readonly agent_version: string | null;
  readonly last_seen_at: number | null;
}

const CHANGED = "RETURNING account_id, asset_uuid, reasons, budget_spent_until, agent_version, last_seen_at";

/**
 * Writes how assets are, and what their account is told of it, in the transaction of the change it follows from: every method
 * must be called in one. A row is written only if it changes.
 */
export class SqliteAssetStates {
  readonly #events: SqliteAccountEventStore;
  readonly #connect;
  readonly #disconnect;
  readonly #report;
  readonly #budget;
  readonly #outcome;
  readonly #wait;
  readonly #find;

  constructor(database: DatabaseSync, events: SqliteAccountEventStore) {
    this.#events = events;
    this.#connect = prepare(
      database,
      `UPDATE asset_states SET instance_id = ?, last_seen_at = coalesce(?, last_seen_at),
         agent_version = coalesce(?, agent_version),
         reasons = CASE WHEN accepted_at IS NULL THEN reasons | ${ACCEPTANCE_BIT} ELSE reasons END
       WHERE asset_uuid = ? ${CHANGED}`,
    );
    this.#disconnect = prepare(
      database,
      `UPDATE asset_states SET instance_id = NULL, last_seen_at = coalesce(?, last_seen_at)
       WHERE asset_uuid = ? AND instance_id IS NOT NULL ${CHANGED}`,
    );
    this.#report = prepare(
      database,
      `UPDATE asset_states SET reasons = (reasons & ~?4) | ?1, agent_version = coalesce(?2, agent_version)
       WHERE asset_uuid = ?3 AND ((reasons & ?4) <> ?1 OR agent_version IS NOT coalesce(?2, agent_version))`,
    );
    this.#budget = prepare(
      database,
      `UPDATE asset_states SET budget_spent_until = ?1,
         reasons = CASE WHEN ?1 IS NULL THEN reasons & ~${BUDGET_BIT} ELSE reasons | ${BUDGET_BIT} END
       WHERE asset_uuid = ?2 AND budget_spent_until IS NOT ?1 ${CHANGED}`,
    );
    this.#outcome = prepare(
      database,
      `UPDATE asset_states SET reasons = (reasons & ~${OUTCOME_BITS}) | ?1
       WHERE asset_uuid = ?2 AND (reasons & ${OUTCOME_BITS}) <> ?1`,
    );
    this.#wait = prepare(
      database,
      `UPDATE asset_states SET waiting = waiting + ?1,
         reasons = CASE WHEN waiting + ?1 > 0 THEN reasons | ${WAITING_BIT} ELSE reasons & ~${WAITING_BIT} END
       WHERE asset_uuid = ?2`,
    );
    this.#find = prepare(
      database,
      "SELECT account_id, asset_uuid, reasons, budget_spent_until, agent_version, last_seen_at FROM asset_states WHERE asset_uuid = ?",
    );
  }

  /** A session was opened. */
  connected({ assetUuid, instanceId, at, agentVersion }: NewSession): void {
    const row = this.#connect.get(instanceId, at, agentVersion ?? null, assetUuid) as StateRow | undefined;
    if (row) this.#tellConnected(row);
  }

  /** A session was taken up again. */
  reopened({ assetUuid }: SessionFence, instanceId: string): void {
    const row = this.#connect.get(instanceId, null, null, assetUuid) as StateRow | undefined;
    if (row) this.#tellConnected(row);
  }

  /** A session has ended. @param at Unix seconds; `undefined` if that is not known */
  disconnected(assetUuid: string, at?: number): void {
    const row = this.#disconnect.get(at ?? null, assetUuid) as StateRow | undefined;
    if (!row) return;
    const lastSeen = row.last_seen_at === null ? {} : { last_seen: row.last_seen_at };
    this.#events.append(row.account_id, { type: "device.disconnected", asset_id: assetUuid, ...lastSeen });
  }

  /** @param at Unix seconds */
  reported(assetUuid: string, report: DeviceReport, at: number): void {
    this.#report.run(bitsOfReport(report), report.device?.agent_version ?? null, assetUuid, bitsToldBy(report));
    this.#tellReported(this.#find.get(assetUuid) as StateRow | undefined, at);
  }

  /**
   * @param spentUntil until when the data budget is spent
   * @param at Unix seconds
   */
  budgetTold(assetUuid: string, spentUntil: number | undefined, at: number): void {
    this.#tellReported(this.#budget.get(spentUntil ?? null, assetUuid) as StateRow | undefined, at);
  }

  /** @param before `undefined` for a new deployment */
  deploymentChanged(before: Deployment | undefined, after: Deployment): void {
    const { assetUuid, accountId } = after;
    const { waits, outcome, events, tellsAttention, at } = assetEffectOf(before, after);
    if (waits !== 0) this.#wait.run(waits, assetUuid);
    if (outcome !== undefined) this.#outcome.run(outcome, assetUuid);
    const row = tellsAttention ? (this.#find.get(assetUuid) as StateRow | undefined) : undefined;
    const attention = row && { attention: attentionAt(row, at) };
    for (const event of events) this.#events.append(accountId, { ...event, ...attention });
  }

  #tellConnected({ account_id: accountId, asset_uuid: assetUuid, agent_version: version }: StateRow): void {
    this.#events.append(accountId, { type: "device.connected", asset_id: assetUuid, agent_version: version ?? "" });
  }

  #tellReported(row: StateRow | undefined, at: number): void {
    if (!row) return;
    const attention = attentionAt(row, at);
    this.#events.append(row.account_id, { type: "device.reported", asset_id: row.asset_uuid, attention });
  }
}

function attentionAt({ reasons, budget_spent_until: spentUntil }: StateRow, at: number): AttentionReason[] {
  return reasonsOfBits(bitsAt(reasons, spentUntil, at));
}
