import type { DeviceDataUsage } from "../../../protocol/link/data-usage.ts";
import { bitsOfReport, bitsToldBy, budgetSpentUntil } from "../../core/attention.ts";
import type { DeviceReport } from "../../core/device-report.ts";
import type { Dated, DeviceStore, StoredReport } from "../devices.ts";
import type { AppendSignal } from "../account-events.ts";
import { type SessionFence, StaleSessionError } from "../sessions.ts";
import type { Queryable } from "../sql/postgres-executor.ts";
import { reportedState, TELL_BUDGET, TOLD_ACCOUNTS } from "./asset-states.ts";
import { type PostgresPool, repeatOnConflict } from "./pool.ts";

const REPORT = /* sql */ `
  SELECT report AS text, reported_at AS at, held_since AS "heldSince" FROM device_reports WHERE asset_uuid = $1`;
const REPORT_HASH = "SELECT hash FROM device_reports WHERE asset_uuid = $1";

/** The session of a write, which no later one replaces until the end of the write. `$2` NULL: the write is for none. */
const WITH_FENCE = /* sql */ `
  WITH fence AS MATERIALIZED (
    SELECT 1 FROM device_sessions WHERE asset_uuid = $1 AND epoch = $2 FOR SHARE
  ), valid AS MATERIALIZED (
    SELECT $2::bigint IS NULL OR EXISTS (SELECT 1 FROM fence) AS ok
  )`;

// Writes nothing for the many devices of which it is known already, such as after a reconnect.
const RECORD_HELD = /* sql */ `
  ${WITH_FENCE}, changed AS (
    UPDATE device_reports SET held_since = $3
    WHERE asset_uuid = $1 AND held_since IS DISTINCT FROM $3 AND (SELECT ok FROM valid)
    RETURNING 1
  )
  SELECT (SELECT ok FROM valid) AS "isValid", EXISTS (SELECT 1 FROM changed) AS "isChanged"`;

// Selects from the assets, so that nothing is stored for a removed asset. Of two first reports at the same time the second
// finds the other one.
const SAVE_REPORT = /* sql */ `
  ${WITH_FENCE}, changed AS (
    INSERT INTO device_reports AS r (asset_uuid, hash, report, reported_at)
    SELECT uuid, $3, $4, $5 FROM assets
    WHERE uuid = $1 AND (SELECT ok FROM valid)
      AND (SELECT hash FROM device_reports WHERE asset_uuid = $1) IS NOT DISTINCT FROM $6
    ON CONFLICT (asset_uuid) DO UPDATE SET hash = excluded.hash, report = excluded.report,
      reported_at = excluded.reported_at, held_since = NULL
    WHERE r.hash IS NOT DISTINCT FROM $6
    RETURNING 1
  ), ${reportedState("changed", { asset: "$1", bits: "$7", told: "$9", version: "$8", at: "$5::bigint" })}
  SELECT (SELECT ok FROM valid) AS "isValid", EXISTS (SELECT 1 FROM changed) AS "isChanged", ${TOLD_ACCOUNTS} AS told`;

const LEDGER = "SELECT ledger AS text, answered_at AS at FROM device_ledgers WHERE asset_uuid = $1";
const LOCK_DEVICE = "SELECT 1 FROM device_sessions WHERE asset_uuid = $1 FOR NO KEY UPDATE";
const SAVE_LEDGER = /* sql */ `
  INSERT INTO device_ledgers (asset_uuid, ledger, answered_at) SELECT uuid, $2, $3 FROM assets WHERE uuid = $1
  ON CONFLICT (asset_uuid) DO UPDATE SET ledger = excluded.ledger, answered_at = excluded.answered_at`;

interface FencedRow {
  readonly isValid: boolean;
  readonly isChanged: boolean;
  readonly told?: readonly string[] | null;
}

export class PostgresDeviceStore implements DeviceStore {
  readonly #pool: PostgresPool;
  readonly #appended: AppendSignal;

  constructor(pool: PostgresPool, appended: AppendSignal) {
    this.#pool = pool;
    this.#appended = appended;
  }

  async findReport(assetUuid: string): Promise<StoredReport | undefined> {
    const { rows } = await this.#pool.query<{ text: string; at: number; heldSince: number | null }>(REPORT, [
      assetUuid,
    ]);
    const [row] = rows;
    return row && { value: JSON.parse(row.text) as DeviceReport, at: row.at, heldSince: row.heldSince ?? undefined };
  }

  async findReportHash(assetUuid: string): Promise<string | undefined> {
    return (await this.#pool.query<{ hash: string }>(REPORT_HASH, [assetUuid])).rows[0]?.hash;
  }

  async recordHeld(assetUuid: string, since: number | undefined, fence?: SessionFence): Promise<void> {
    await this.#write(RECORD_HELD, [assetUuid, fence?.epoch ?? null, since ?? null], fence);
  }

  async replaceReport(
    assetUuid: string,
    storedHash: string | undefined,
    { value, at }: Dated<DeviceReport>,
    fence?: SessionFence,
  ): Promise<boolean> {
    const values = [assetUuid, fence?.epoch ?? null, value.hash, JSON.stringify(value), at, storedHash ?? null];
    const state = [bitsOfReport(value), value.device?.agent_version ?? null, bitsToldBy(value)];
    return this.#write(SAVE_REPORT, [...values, ...state], fence);
  }

  async findLedger(assetUuid: string): Promise<Dated<DeviceDataUsage> | undefined> {
    return readLedger(this.#pool, assetUuid);
  }

  async updateLedger(
    assetUuid: string,
    decide: (stored: Dated<DeviceDataUsage> | undefined) => Dated<DeviceDataUsage>,
  ): Promise<Dated<DeviceDataUsage>> {
    const { ledger, told } = await this.#pool.transaction(async (client) => {
      await client.query(LOCK_DEVICE, [assetUuid]);
      const ledger = decide(await readLedger(client, assetUuid));
      // Sent together, carried out one after the other.
      const [{ rows }] = await Promise.all([
        client.query<{ account_id: string }>(TELL_BUDGET, [
          assetUuid,
          budgetSpentUntil(ledger.value, ledger.at) ?? null,
          ledger.at,
        ]),
        client.query(SAVE_LEDGER, [assetUuid, JSON.stringify(ledger.value), ledger.at]),
      ]);
      return { ledger, told: rows.map((row) => row.account_id) };
    });
    this.#appended.emit(told);
    return ledger;
  }

  /** Returns whether anything was changed. */
  async #write(text: string, values: readonly unknown[], fence: SessionFence | undefined): Promise<boolean> {
    const { rows } = await repeatOnConflict(() => this.#pool.query<FencedRow>(text, values));
    if (fence && rows[0]?.isValid !== true) throw new StaleSessionError(fence);
    this.#appended.emit(rows[0]?.told ?? []);
    return rows[0]?.isChanged === true;
  }
}

async function readLedger(client: Queryable, assetUuid: string): Promise<Dated<DeviceDataUsage> | undefined> {
  const { rows } = await client.query<{ text: string; at: number }>(LEDGER, [assetUuid]);
  return rows[0] && { value: JSON.parse(rows[0].text) as DeviceDataUsage, at: rows[0].at };
}
