import type { DatabaseSync } from "node:sqlite";
import { prepare, transaction } from "../../../lib/sqlite.ts";
import type { Instance, InstanceStore, NewInstance, ServiceState, SharedTime } from "../instances.ts";

interface InstanceRow {
  readonly id: string;
  readonly version: string;
  readonly started_at_ms: number;
  readonly lease_until_ms: number;
  readonly is_stopping: number;
}

export class SqliteInstanceStore implements InstanceStore {
  readonly #database: DatabaseSync;
  readonly #join;
  readonly #renew;
  readonly #markStopping;
  readonly #leave;
  readonly #removeLapsed;
  readonly #list;
  readonly #noteAlive;
  readonly #aliveAt;
  readonly #time;
  readonly #changeShift;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#join = prepare(
      database,
      `INSERT INTO instances (id, version, started_at_ms, lease_until_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET version = excluded.version, started_at_ms = excluded.started_at_ms,
         lease_until_ms = excluded.lease_until_ms, is_stopping = 0`,
    );
    this.#renew = prepare(database, "UPDATE instances SET lease_until_ms = ?3 WHERE id = ?1 AND lease_until_ms > ?2");
    this.#markStopping = prepare(database, "UPDATE instances SET is_stopping = 1 WHERE id = ?");
    this.#leave = prepare(database, "DELETE FROM instances WHERE id = ?");
    this.#removeLapsed = prepare(database, "DELETE FROM instances WHERE id = ? AND lease_until_ms <= ?");
    this.#list = prepare(database, "SELECT * FROM instances ORDER BY id");
    this.#noteAlive = prepare(
      database,
      "UPDATE service_state SET alive_at_ms = ?1 WHERE alive_at_ms IS NULL OR alive_at_ms < ?1",
    );
    this.#aliveAt = prepare(database, "SELECT alive_at_ms AS aliveAtMs FROM service_state");
    this.#time = prepare(
      database,
      `SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS nowMs, clock_shift_ms AS shiftMs, clock_version AS version
       FROM service_state`,
    );
    this.#changeShift = prepare(
      database,
      "UPDATE service_state SET clock_shift_ms = ?2, clock_version = clock_version + 1 WHERE clock_version = ?1",
    );
  }

  async join({ id, version, startedAtMs, leaseUntilMs, nowMs }: NewInstance): Promise<void> {
    transaction(this.#database, () => {
      this.#join.run(id, version, startedAtMs, leaseUntilMs);
      this.#noteAlive.run(nowMs);
    });
  }

  async renew(id: string, nowMs: number, untilMs: number): Promise<boolean> {
    return transaction(this.#database, () => {
      if (this.#renew.run(id, nowMs, untilMs).changes === 0) return false;
      this.#noteAlive.run(nowMs);
      return true;
    });
  }

  async markStopping(id: string): Promise<void> {
    this.#markStopping.run(id);
  }

  async leave(id: string, nowMs: number): Promise<void> {
    transaction(this.#database, () => {
      this.#leave.run(id);
      this.#noteAlive.run(nowMs);
    });
  }

  async removeLapsed(id: string, nowMs: number): Promise<boolean> {
    this.#removeLapsed.run(id, nowMs);
    return !(await this.list()).some((instance) => instance.id === id);
  }

  async list(): Promise<readonly Instance[]> {
    return (this.#list.all() as unknown as InstanceRow[]).map((row) => ({
      id: row.id,
      version: row.version,
      startedAtMs: row.started_at_ms,
      leaseUntilMs: row.lease_until_ms,
      isStopping: row.is_stopping === 1,
    }));
  }

  /** That a file was restored from a backup is marked in the backup. */
  async findState(): Promise<ServiceState> {
    const { aliveAtMs } = this.#aliveAt.get() as { aliveAtMs: number | null };
    return { aliveAtMs: aliveAtMs ?? undefined, identity: undefined, knownIdentity: undefined };
  }

  async readTime(): Promise<SharedTime> {
    return { ...(this.#time.get() as unknown as SharedTime) };
  }

  async changeShift(version: number, shiftMs: number): Promise<boolean> {
    return this.#changeShift.run(version, shiftMs).changes > 0;
  }
}
