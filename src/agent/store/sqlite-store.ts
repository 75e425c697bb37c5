import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ZodType } from "zod";
import { type EventContent, isFinal } from "../../protocol/deployments/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import { openSnapshot } from "../../lib/sqlite-snapshot.ts";
import { openSqlite, transaction, unsyncedTransaction } from "../../lib/sqlite.ts";
import { isReadOnlyDisk } from "../../lib/read-only-disk.ts";
import { toGroupEvents } from "../core/apply/group-events.ts";
import type { AppRecord, DeploymentRecord } from "../core/records.ts";
import type { OutboxEvent } from "./outbox.ts";
import { DeploymentTables } from "./deployment-tables.ts";
import type { DiskReserve } from "./disk-reserve.ts";
import { FileContentTable } from "./file-content-table.ts";
import {
  deploymentEntry,
  entryToStore,
  type HistoryEntry,
  HistoryTable,
  type TimedEvent,
  timedEvent,
} from "./history.ts";
import { LedgerTable } from "./ledger-table.ts";
import { MIGRATIONS } from "./migrations.ts";
import { ResidualDataTracker, collectSecretValues } from "./residual-data.ts";
import { appRecordSchema, deploymentRecordSchema } from "./records.ts";
import { withStoreErrors } from "./sqlite-errors.ts";
import { type AgentStore, type StoreChange, StoreError } from "./store.ts";

// One commit touches a handful of pages; small ones wear the flash less.
const PAGE_SIZE = 1024;

export interface SqliteStoreOptions {
  /** Path of the database file, or `:memory:`. */
  readonly path: string;
  readonly clock: Clock;
  /** Id of the current boot. Monotonic times are comparable within one boot only. */
  readonly bootId: string;
  /** Released when the disk is full. */
  readonly reserve?: DiskReserve;
  /** Called for each unreadable row; such rows are left out. */
  readonly onDamage?: (what: string) => void;
  /** Default: those of this version. */
  readonly migrations?: readonly string[] | undefined;
  /** Set while this version is on trial: it makes no change of the schema that the version before could not read. */
  readonly isOnTrial?: boolean;
}

/**
 * Opens the agent's store. On a disk that is read-only, as after an error of an SD card, it is a copy in memory that refuses every
 * write until the disk can be written again. Throws `StoreError`: `damaged` when the file is not a valid database.
 *
 * @param options.isDamaged on such a disk the file cannot be set aside: the copy is empty
 */
export function openSqliteStore(options: SqliteStoreOptions & { readonly isDamaged?: boolean }): AgentStore {
  const { path, isDamaged = false, migrations = MIGRATIONS, isOnTrial = false } = options;
  const schema = { migrations, acceptsNext: true, ...(isOnTrial && { maxPending: 1 }) };
  const open = (from = path): DatabaseSync => openSqlite(from, { ...schema, pageSize: PAGE_SIZE, isExclusive: true });
  return withStoreErrors("open", () => {
    try {
      return openChecked(open(), options);
    } catch (error) {
      if (path === ":memory:" || !isReadOnlyDisk(dirname(path))) throw error;
      const copy = existsSync(path) && !isDamaged ? openSnapshot(path) : open(":memory:");
      copy.exec("PRAGMA query_only = ON");
      return openChecked(copy, { ...options, reopen: open });
    }
  });
}

/**
 * Opens the store as it is at this moment, with or without a running daemon, from a copy in memory. Throws `StoreError`, as
 * above.
 */
export function openSqliteReader(options: SqliteStoreOptions): AgentStore {
  const obstacle = findReadObstacle(options.path);
  if (obstacle !== undefined) throw new StoreError("other", obstacle);
  return withStoreErrors("open", () => openChecked(openSnapshot(options.path), { ...options, isReadOnly: true }));
}

/** Returns why the file cannot be read, for people; `undefined` when it can. */
function findReadObstacle(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"
      ? "the agent has not run on this device yet"
      : "no permission to read what the agent has stored; try it with sudo";
  }
}

type OpenOptions = SqliteStoreOptions & {
  readonly isReadOnly?: boolean;
  /** Opens the file whose copy this is, for writing. Throws as long as that is not possible. */
  readonly reopen?: () => DatabaseSync;
};

function openChecked(database: DatabaseSync, options: OpenOptions): AgentStore {
  const sound = requireSound(database);
  try {
    return new SqliteStore(sound, options);
  } catch (error) {
    sound.close();
    throw error;
  }
}

/** Returns the database. Closes it and throws if it is damaged. */
function requireSound(database: DatabaseSync): DatabaseSync {
  try {
    const verdict = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (verdict === "ok") return database;
    throw new StoreError("damaged", `the agent's store is damaged: ${String(verdict)}`);
  } catch (error) {
    database.close();
    throw error;
  }
}

class SqliteStore implements AgentStore {
  #database: DatabaseSync;
  /** Whether writes wait for the disk: the database is a copy in memory. */
  #isCopy: boolean;
  readonly #options: OpenOptions;
  readonly #statements = new Map<string, StatementSync>();
  /** The apps as they were read last, by the text of their records: they are read often, and checking one takes a millisecond. */
  #readApps: ReadonlyMap<string, AppRecord> = new Map();
  /** Highest acknowledged `device_seq` of pending deployments; not stored. */
  readonly #acknowledged = new Map<string, number>();
  readonly #history = new HistoryTable((text) => this.#sql(text));
  readonly #deployments: DeploymentTables;
  #residualData: ResidualDataTracker;
  readonly #fileContents = new FileContentTable((text) => this.#sql(text));
  readonly ledger = new LedgerTable({
    sql: (text) => this.#sql(text),
    write: (work) => withStoreErrors("write", () => transaction(this.#writable(), work)),
    read: (work) => withStoreErrors("read", work),
  });

  constructor(database: DatabaseSync, options: OpenOptions) {
    this.#database = database;
    this.#isCopy = options.reopen !== undefined;
    this.#options = options;
    this.#residualData = new ResidualDataTracker(database);
    const { clock, bootId } = options;
    this.#deployments = new DeploymentTables({ sql: (text) => this.#sql(text), clock, bootId });
  }

  deployments(): readonly DeploymentRecord[] {
    return withStoreErrors("read", () => {
      const records = this.#deployments
        .all()
        .flatMap((row) => this.#parse(deploymentRecordSchema, row["record"], `deployment ${String(row["id"])}`));
      return records.toSorted((a, b) => a.order - b.order);
    });
  }

  deployment(id: string): DeploymentRecord | undefined {
    return withStoreErrors("read", () => {
      const row = this.#deployments.find(id);
      return row && this.#parse(deploymentRecordSchema, row["record"], `deployment ${id}`)[0];
    });
  }

  nextOrder(): number {
    return Math.max(0, ...this.deployments().map(({ order }) => order)) + 1;
  }

  apps(): readonly AppRecord[] {
    return withStoreErrors("read", () => {
      const rows = this.#sql("SELECT name, record FROM apps ORDER BY name").all();
      const read = rows.flatMap(({ name, record }) => {
        const text = String(record);
        const known = this.#readApps.get(text);
        const found = known ? [known] : this.#parse(appRecordSchema, text, `app ${String(name)}`);
        return found.map((app) => [text, app] as const);
      });
      this.#readApps = new Map(read);
      return read.map(([, app]) => app);
    });
  }

  learnedValue(name: string): string | undefined {
    const value = withStoreErrors(
      "read",
      () => this.#sql("SELECT value FROM learned WHERE name = ?").get(name)?.["value"],
    );
    return typeof value === "string" ? value : undefined;
  }

  saveLearnedValue(name: string, value: string): void {
    withStoreErrors("write", () => {
      this.#writable();
      this.#sql("INSERT OR REPLACE INTO learned (name, value) VALUES (?, ?)").run(name, value);
    });
  }

  history(limit: number): readonly HistoryEntry[] {
    return withStoreErrors("read", () => {
      const pending = this.deployments().filter(({ outcome, group }) => outcome === "pending" && !group);
      const entries = pending.map((record) => deploymentEntry(record, this.#eventsOf(record.id)));
      const ended = this.#history
        .last(limit)
        .filter((entry) => !pending.some(({ id }) => "id" in entry && entry.id === id));
      return [...ended, ...entries].slice(-limit);
    });
  }

  finalStatusOf(id: string): "Success" | "Fail" | undefined {
    return withStoreErrors("read", () => this.#history.finalStatusOf(id));
  }

  isFull(): boolean {
    const { reserve } = this.#options;
    return reserve !== undefined && !reserve.restore();
  }

  save(change: StoreChange): void {
    try {
      this.#write(change);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "full" || !this.#options.reserve?.release()) throw error;
      this.#write(change);
    }
  }

  pendingEvents(position: number, limit: number): readonly OutboxEvent[] {
    return withStoreErrors("read", () => {
      const events: OutboxEvent[] = [];
      for (const event of this.#deployments.eventsAfter(position)) {
        if (event.event.device_seq > (this.#acknowledged.get(event.deploymentId) ?? 0)) events.push(event);
        if (events.length >= limit) break;
      }
      return events;
    });
  }

  acknowledge(deploymentId: string, deviceSeq: number): void {
    withStoreErrors("write", () => {
      const final = this.#deployments.finalSeq(deploymentId);
      // During the rollback of a success the deployment is pending again, though its success was a final event.
      const isOver = this.deployment(deploymentId)?.outcome !== "pending";
      if (final === undefined || deviceSeq < final || !isOver) {
        this.#acknowledged.set(deploymentId, Math.max(deviceSeq, this.#acknowledged.get(deploymentId) ?? 0));
        return;
      }
      // A power cut may undo this: then the final event is sent again, as if its acknowledgement had not arrived.
      unsyncedTransaction(this.#writable(), () => {
        const ids = [deploymentId, ...this.#deployments.childrenOf(deploymentId)];
        const values = collectSecretValues(ids.map((id) => this.#deployments.find(id)?.["record"]));
        for (const id of ids) this.#deployments.forget(id);
        this.#residualData.trackRemoved(values);
        this.#removeFileContents();
      });
      this.#acknowledged.delete(deploymentId);
    });
  }

  fileContent(id: string): Buffer | undefined {
    return withStoreErrors("read", () => this.#fileContents.find(id));
  }

  get hasResidualData(): boolean {
    return this.#residualData.hasResidualData;
  }

  scrub(): void {
    withStoreErrors("scrub", () => {
      this.#writable();
      this.#residualData.scrub();
    });
  }

  [Symbol.dispose](): void {
    try {
      if (this.#options.isReadOnly !== true && !this.#isCopy) this.#residualData.scrub();
    } catch {
      // The mark stays in the database; the next start scrubs.
    }
    this.#database.close();
  }

  #write(change: StoreChange): void {
    withStoreErrors("write", () =>
      transaction(this.#writable(), () => {
        const values = this.#replacedSecretValues(change);
        this.#fileContents.add(change.fileContents);
        if (change.deployment) this.#saveDeployment(change.deployment, change.events ?? []);
        for (const child of change.children ?? []) this.#deployments.save(child, []);
        for (const app of appsOf(change)) this.#saveApp(app);
        if (change.historyEntry) this.#history.add(change.historyEntry);
        if (change.removedApp !== undefined) this.#sql("DELETE FROM apps WHERE name = ?").run(change.removedApp);
        this.#residualData.trackRemoved(values);
        const isForgotten = change.deployment?.origin === "local" && (change.events ?? []).some(isFinal);
        if (appsOf(change).length > 0 || change.removedApp !== undefined || isForgotten) this.#removeFileContents();
      }),
    );
  }

  /** Returns the database, which takes the place of its copy once the disk can be written. Nothing has changed in between. */
  #writable(): DatabaseSync {
    const { reopen } = this.#options;
    if (!this.#isCopy || !reopen) return this.#database;
    // One that was damaged before is set aside by the next start.
    const database = requireSound(reopen());
    this.#database.close();
    this.#statements.clear();
    this.#database = database;
    this.#residualData = new ResidualDataTracker(database);
    this.#isCopy = false;
    return database;
  }

  #removeFileContents(): void {
    if (this.#fileContents.removeUnused()) this.#residualData.mark();
  }

  /** Secret values in the records that a change replaces or removes. */
  #replacedSecretValues(change: StoreChange): ReadonlySet<string> {
    const { deployment, children = [], events = [], removedApp } = change;
    const recordOf = (name: string): unknown =>
      this.#sql("SELECT record FROM apps WHERE name = ?").get(name)?.["record"];
    const isForgotten = deployment?.origin === "local" && events.some(isFinal);
    return collectSecretValues([
      deployment && this.#deployments.find(deployment.id)?.["record"],
      ...children.map(({ id }) => this.#deployments.find(id)?.["record"]),
      isForgotten ? JSON.stringify(deployment) : undefined,
      ...appsOf(change).map(({ name }) => recordOf(name)),
      removedApp === undefined ? undefined : recordOf(removedApp),
    ]);
  }

  #saveDeployment(record: DeploymentRecord, events: readonly EventContent[]): void {
    if (record.group) return this.#saveChild(record, record.group.id, events);
    this.#deployments.save(record, events);
    if (!events.some(isFinal)) return;
    this.#history.add(entryToStore(record, this.#eventsOf(record.id)));
    // It is not acknowledged by the control plane; the history has its entry.
    if (record.origin === "local") this.#deployments.forget(record.id);
  }

  #saveChild(record: DeploymentRecord, groupId: string, events: readonly EventContent[]): void {
    this.#deployments.save(record, []);
    if (this.#deployments.find(groupId)) return this.#deployments.append(groupId, toGroupEvents(record, events));
    // The record of the group was damaged: this one would never be acknowledged.
    if (events.some(isFinal)) this.#deployments.forget(record.id);
  }

  #saveApp(app: AppRecord): void {
    const text = JSON.stringify(app);
    const { changes } = this.#sql("UPDATE apps SET record = ? WHERE name = ?").run(text, app.name);
    if (changes === 0) this.#sql("INSERT INTO apps (name, record) VALUES (?, ?)").run(app.name, text);
  }

  #eventsOf(deploymentId: string): TimedEvent[] {
    return this.#deployments.eventsOf(deploymentId).map(({ event }) => {
      const at = event.age_ms === undefined ? null : Math.floor((this.#options.clock.now() - event.age_ms) / 1000);
      return timedEvent(event, at);
    });
  }

  /** Parses a row's record; returns an empty list when it is invalid. */
  #parse<T>(schema: ZodType<T>, record: unknown, what: string): T[] {
    try {
      return [schema.parse(JSON.parse(String(record)))];
    } catch {
      this.#options.onDamage?.(what);
      return [];
    }
  }

  #sql(text: string): StatementSync {
    const cached = this.#statements.get(text) ?? this.#database.prepare(text);
    this.#statements.set(text, cached);
    return cached;
  }
}

function appsOf({ app, apps = [] }: StoreChange): readonly AppRecord[] {
  return app ? [app, ...apps] : apps;
}
