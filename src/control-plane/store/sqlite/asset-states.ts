import type { DatabaseSync } from "node:sqlite";
import { accountEventOf, isWaitingForDevice } from "../../core/account-event.ts";
import {
  bitsOfOutcome,
  bitsOfReport,
  BUDGET_BIT,
  OUTCOME_BITS,
  reasonsOfBits,
  REPORT_BITS,
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
  readonly agent_version: string | null;
  readonly last_seen_at: number | null;
}

const CHANGED = "RETURNING account_id, asset_uuid, reasons, agent_version, last_seen_at";

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
    this.#connect = database.prepare(
      `UPDATE asset_states SET instance_id = ?, last_seen_at = coalesce(?, last_seen_at),
         agent_version = coalesce(?, agent_version) WHERE asset_uuid = ? ${CHANGED}`,
    );
    this.#disconnect = database.prepare(
      `UPDATE asset_states SET instance_id = NULL, last_seen_at = coalesce(?, last_seen_at)
       WHERE asset_uuid = ? AND instance_id IS NOT NULL ${CHANGED}`,
    );
    this.#report = database.prepare(
      `UPDATE asset_states SET reasons = (reasons & ~${REPORT_BITS}) | ?1, agent_version = coalesce(?2, agent_version)
       WHERE asset_uuid = ?3 AND ((reasons & ${REPORT_BITS}) <> ?1 OR agent_version IS NOT coalesce(?2, agent_version))`,
    );
    this.#budget = database.prepare(
      `UPDATE asset_states SET budget_spent_until = ?1,
         reasons = CASE WHEN ?1 IS NULL THEN reasons & ~${BUDGET_BIT} ELSE reasons | ${BUDGET_BIT} END
       WHERE asset_uuid = ?2 AND budget_spent_until IS NOT ?1 ${CHANGED}`,
    );
    this.#outcome = database.prepare(
      `UPDATE asset_states SET reasons = (reasons & ~${OUTCOME_BITS}) | ?1
       WHERE asset_uuid = ?2 AND (reasons & ${OUTCOME_BITS}) <> ?1`,
    );
    this.#wait = database.prepare(
      `UPDATE asset_states SET waiting = waiting + ?1,
         reasons = CASE WHEN waiting + ?1 > 0 THEN reasons | ${WAITING_BIT} ELSE reasons & ~${WAITING_BIT} END
       WHERE asset_uuid = ?2`,
    );
    this.#find = database.prepare(
      "SELECT account_id, asset_uuid, reasons, agent_version, last_seen_at FROM asset_states WHERE asset_uuid = ?",
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

  reported(assetUuid: string, report: DeviceReport): void {
    this.#report.run(bitsOfReport(report), report.device?.agent_version ?? null, assetUuid);
    this.#tellReported(this.#find.get(assetUuid) as StateRow | undefined);
  }

  /** @param spentUntil until when the data budget is spent */
  budgetTold(assetUuid: string, spentUntil: number | undefined): void {
    this.#tellReported(this.#budget.get(spentUntil ?? null, assetUuid) as StateRow | undefined);
  }

  /** @param before `undefined` for a new deployment */
  deploymentChanged(before: Deployment | undefined, after: Deployment): void {
    const { assetUuid, accountId } = after;
    const waits = Number(isWaitingForDevice(after)) - Number(before !== undefined && isWaitingForDevice(before));
    if (waits !== 0) this.#wait.run(waits, assetUuid);
    const bits = before?.status === "Running" ? bitsOfOutcome(after) : undefined;
    if (bits !== undefined) this.#outcome.run(bits, assetUuid);
    const event = accountEventOf(before, after);
    if (event) this.#events.append(accountId, event);
  }

  #tellConnected({ account_id: accountId, asset_uuid: assetUuid, agent_version: version }: StateRow): void {
    this.#events.append(accountId, { type: "device.connected", asset_id: assetUuid, agent_version: version ?? "" });
  }

  #tellReported(row: StateRow | undefined): void {
    if (!row) return;
    const attention = reasonsOfBits(row.reasons);
    this.#events.append(row.account_id, { type: "device.reported", asset_id: row.asset_uuid, attention });
  }
}
