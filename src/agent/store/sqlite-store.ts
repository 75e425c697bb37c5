import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type EventContent, isFinal } from "../../protocol/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import { openSqlite, transaction } from "../../lib/sqlite.ts";
import type { AppRecord, DeploymentRecord } from "../core/deployment.ts";
import type { OutboxEvent } from "../link/ports.ts";
import { MIGRATIONS } from "./migrations.ts";
import { appRecordSchema, deploymentRecordSchema } from "./records.ts";
import { type AgentStore, type StoreChange, StoreError } from "./store.ts";

// One commit touches a handful of pages; small ones wear the flash less.
const PAGE_SIZE = 1024;

export interface SqliteStoreOptions {
  /** Path of the database file, or `:memory:`. */
  readonly path: string;
  readonly clock: Clock;
  /** Identity of this boot of the machine: monotonic times of another boot say nothing. */
  readonly bootId: string;
}

/** Opens the agent's store. Throws `StoreError` when the file is damaged, of a newer version, or not writable. */
export function openSqliteStore(options: SqliteStoreOptions): AgentStore {
  return guarded("open", () => {
    const database = openSqlite(options.path, { migrations: MIGRATIONS, pageSize: PAGE_SIZE });
    return new SqliteStore(database, options);
  });
}

class SqliteStore implements AgentStore {
  readonly #database: DatabaseSync;
  readonly #options: SqliteStoreOptions;
  readonly #statements = new Map<string, StatementSync>();
  /** Highest acknowledged `device_seq` of deployments that go on; forgotten with the process. */
  readonly #acknowledged = new Map<string, number>();

  constructor(database: DatabaseSync, options: SqliteStoreOptions) {
    this.#database = database;
    this.#options = options;
  }

  deployments(): readonly DeploymentRecord[] {
    return guarded("read", () => {
      const rows = this.#sql("SELECT record FROM deployments").all();
      const records = rows.map((row) => deploymentRecordSchema.parse(JSON.parse(String(row["record"]))));
      return records.toSorted((a, b) => a.order - b.order);
    });
  }

  deployment(id: string): DeploymentRecord | undefined {
    return guarded("read", () => {
      const row = this.#sql("SELECT record FROM deployments WHERE id = ?").get(id);
      return row && deploymentRecordSchema.parse(JSON.parse(String(row["record"])));
    });
  }

  nextOrder(): number {
    return Math.max(0, ...this.deployments().map(({ order }) => order)) + 1;
  }

  apps(): readonly AppRecord[] {
    return guarded("read", () =>
      this.#sql("SELECT record FROM apps ORDER BY name")
        .all()
        .map((row) => appRecordSchema.parse(JSON.parse(String(row["record"])))),
    );
  }

  save(change: StoreChange): void {
    guarded("write", () =>
      transaction(this.#database, () => {
        if (change.deployment) this.#saveDeployment(change.deployment, change.events ?? []);
        if (change.app) {
          this.#sql("INSERT OR REPLACE INTO apps (name, record) VALUES (?, ?)").run(
            change.app.name,
            JSON.stringify(change.app),
          );
        }
        if (change.removedApp !== undefined) this.#sql("DELETE FROM apps WHERE name = ?").run(change.removedApp);
      }),
    );
  }

  pendingEvents(position: number, limit: number): readonly OutboxEvent[] {
    return guarded("read", () => {
      const events: OutboxEvent[] = [];
      for (const row of this.#sql("SELECT * FROM outbox WHERE position > ? ORDER BY position").iterate(position)) {
        const event = this.#toOutboxEvent(row);
        if (event.event.device_seq > (this.#acknowledged.get(event.deploymentId) ?? 0)) events.push(event);
        if (events.length >= limit) break;
      }
      return events;
    });
  }

  acknowledge(deploymentId: string, deviceSeq: number): void {
    guarded("write", () => {
      const final = this.#sql("SELECT max(device_seq) AS seq FROM outbox WHERE deployment_id = ? AND is_final = 1").get(
        deploymentId,
      )?.["seq"];
      if (typeof final !== "number" || deviceSeq < final) {
        this.#acknowledged.set(deploymentId, Math.max(deviceSeq, this.#acknowledged.get(deploymentId) ?? 0));
        return;
      }
      this.#sql("DELETE FROM deployments WHERE id = ?").run(deploymentId);
      this.#acknowledged.delete(deploymentId);
    });
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }

  #saveDeployment(record: DeploymentRecord, events: readonly EventContent[]): void {
    this.#sql(
      `INSERT INTO deployments (id, next_seq, record) VALUES (?, 1, ?)
       ON CONFLICT (id) DO UPDATE SET record = excluded.record`,
    ).run(record.id, JSON.stringify(record));
    for (const event of events) this.#append(record.id, event);
  }

  #append(deploymentId: string, content: EventContent): void {
    const row = this.#sql(
      "UPDATE deployments SET next_seq = next_seq + 1 WHERE id = ? RETURNING next_seq - 1 AS seq",
    ).get(deploymentId);
    const isProgress = content.progress !== undefined;
    if (isProgress) {
      this.#sql("DELETE FROM outbox WHERE deployment_id = ? AND is_progress = 1").run(deploymentId);
    }
    this.#sql(
      `INSERT INTO outbox (deployment_id, device_seq, is_progress, is_final, boot_id, monotonic_ms, content)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      deploymentId,
      Number(row?.["seq"]),
      Number(isProgress),
      Number(isFinal(content)),
      this.#options.bootId,
      Math.floor(this.#options.clock.monotonic()),
      JSON.stringify(content),
    );
  }

  #toOutboxEvent(row: Record<string, unknown>): OutboxEvent {
    const isThisBoot = row["boot_id"] === this.#options.bootId;
    const age = Math.floor(this.#options.clock.monotonic()) - Number(row["monotonic_ms"]);
    return {
      position: Number(row["position"]),
      deploymentId: String(row["deployment_id"]),
      event: {
        ...(JSON.parse(String(row["content"])) as EventContent),
        device_seq: Number(row["device_seq"]),
        ...(isThisBoot && age >= 0 && { age_ms: age }),
      },
    };
  }

  #sql(text: string): StatementSync {
    const cached = this.#statements.get(text) ?? this.#database.prepare(text);
    this.#statements.set(text, cached);
    return cached;
  }
}

function guarded<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`the agent's store could not be used (${what}): ${reason}`, { cause: error });
  }
}
