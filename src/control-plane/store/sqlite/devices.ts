import type { DatabaseSync, StatementSync } from "node:sqlite";
import { prepare } from "../../../lib/sqlite.ts";
import type { DeviceDataUsage } from "../../../protocol/link/data-usage.ts";
import { budgetSpentUntil } from "../../core/attention.ts";
import type { DeviceReport } from "../../core/device-report.ts";
import type { Dated, DeviceStore, StoredReport } from "../devices.ts";
import { type SessionFence, StaleSessionError } from "../sessions.ts";
import type { SqliteAssetStates } from "./asset-states.ts";
import type { CommitQueue } from "./commit-queue.ts";

export class SqliteDeviceStore implements DeviceStore {
  readonly #commits: CommitQueue;
  readonly #states: SqliteAssetStates;
  readonly #session;
  readonly #report;
  readonly #reportHash;
  readonly #recordHeld;
  readonly #saveReport;
  readonly #ledger;
  readonly #saveLedger;

  constructor(database: DatabaseSync, commits: CommitQueue, states: SqliteAssetStates) {
    this.#commits = commits;
    this.#states = states;
    this.#session = prepare(database, "SELECT 1 FROM device_sessions WHERE asset_uuid = ? AND epoch = ?");
    this.#report = prepare(
      database,
      "SELECT report AS text, reported_at AS at, held_since AS heldSince FROM device_reports WHERE asset_uuid = ?",
    );
    this.#reportHash = prepare(database, "SELECT hash FROM device_reports WHERE asset_uuid = ?");
    // Writes nothing for the many devices of which it is known already, such as after a reconnect.
    this.#recordHeld = prepare(
      database,
      "UPDATE device_reports SET held_since = ?1 WHERE asset_uuid = ?2 AND held_since IS NOT ?1",
    );
    // Selects from the assets, so that nothing is stored for a removed asset.
    this.#saveReport = prepare(
      database,
      `INSERT OR REPLACE INTO device_reports (asset_uuid, hash, report, reported_at)
       SELECT uuid, ?1, ?2, ?3 FROM assets WHERE uuid = ?4
         AND (SELECT hash FROM device_reports WHERE asset_uuid = ?4) IS ?5`,
    );
    this.#ledger = prepare(
      database,
      "SELECT ledger AS text, answered_at AS at FROM device_ledgers WHERE asset_uuid = ?",
    );
    this.#saveLedger = prepare(
      database,
      "INSERT OR REPLACE INTO device_ledgers (asset_uuid, ledger, answered_at) SELECT uuid, ?, ? FROM assets WHERE uuid = ?",
    );
  }

  async findReport(assetUuid: string): Promise<StoredReport | undefined> {
    const row = this.#report.get(assetUuid) as { text: string; at: number; heldSince: number | null } | undefined;
    return row && { value: JSON.parse(row.text) as DeviceReport, at: row.at, heldSince: row.heldSince ?? undefined };
  }

  async recordHeld(assetUuid: string, since: number | undefined, fence?: SessionFence): Promise<void> {
    await this.#commits.run(() => {
      this.#requireSession(fence);
      this.#recordHeld.run(since ?? null, assetUuid);
    });
  }

  async findReportHash(assetUuid: string): Promise<string | undefined> {
    const row = this.#reportHash.get(assetUuid) as { hash: string } | undefined;
    return row?.hash;
  }

  async replaceReport(
    assetUuid: string,
    storedHash: string | undefined,
    { value, at }: Dated<DeviceReport>,
    fence?: SessionFence,
  ): Promise<boolean> {
    const report = JSON.stringify(value);
    return this.#commits.run(() => {
      this.#requireSession(fence);
      if (this.#saveReport.run(value.hash, report, at, assetUuid, storedHash ?? null).changes === 0) return false;
      this.#states.reported(assetUuid, value, at);
      return true;
    });
  }

  #requireSession(fence: SessionFence | undefined): void {
    if (fence && !this.#session.get(fence.assetUuid, fence.epoch)) throw new StaleSessionError(fence);
  }

  async findLedger(assetUuid: string): Promise<Dated<DeviceDataUsage> | undefined> {
    return read(this.#ledger, assetUuid);
  }

  async updateLedger(
    assetUuid: string,
    decide: (stored: Dated<DeviceDataUsage> | undefined) => Dated<DeviceDataUsage>,
  ): Promise<Dated<DeviceDataUsage>> {
    return this.#commits.run(() => {
      const ledger = decide(read(this.#ledger, assetUuid));
      this.#saveLedger.run(JSON.stringify(ledger.value), ledger.at, assetUuid);
      this.#states.budgetTold(assetUuid, budgetSpentUntil(ledger.value, ledger.at), ledger.at);
      return ledger;
    });
  }
}

function read<T>(statement: StatementSync, assetUuid: string): Dated<T> | undefined {
  const row = statement.get(assetUuid) as { text: string; at: number } | undefined;
  return row && { value: JSON.parse(row.text) as T, at: row.at };
}
