import type { DatabaseSync } from "node:sqlite";
import { prepare } from "../../../lib/sqlite.ts";
import type { LeaseStore } from "../instances.ts";

export class SqliteLeaseStore implements LeaseStore {
  readonly #acquire;
  readonly #release;

  constructor(database: DatabaseSync) {
    this.#acquire = prepare(
      database,
      `INSERT INTO leases (name, holder, epoch, until_ms) VALUES (?1, ?2, 1, ?4)
       ON CONFLICT (name) DO UPDATE SET epoch = epoch + (holder <> excluded.holder), holder = excluded.holder,
         until_ms = excluded.until_ms
       WHERE holder = excluded.holder OR until_ms <= ?3
       RETURNING epoch`,
    );
    // The row stays, so that epochs go on.
    this.#release = prepare(database, "UPDATE leases SET until_ms = 0 WHERE name = ? AND holder = ?");
  }

  async acquire(name: string, holder: string, nowMs: number, untilMs: number): Promise<number | undefined> {
    const row = this.#acquire.get(name, holder, nowMs, untilMs) as { epoch: number } | undefined;
    return row?.epoch;
  }

  async release(name: string, holder: string): Promise<void> {
    this.#release.run(name, holder);
  }
}
