import type { DatabaseSync } from "node:sqlite";
import { prepare, transaction } from "../../../lib/sqlite.ts";
import type { NewAccountEvent } from "../../core/account-event.ts";
import {
  type AccountEventPage,
  type AccountEventStore,
  type AppendSignal,
  MAX_EVENTS_PER_ACCOUNT,
} from "../account-events.ts";

/** Events that are removed in one transaction. */
const MAX_REMOVED_AT_ONCE = 2_000;

const SKIP_LOST = /* sql */ `
  INSERT INTO sqlite_sequence (name, seq) SELECT 'account_events', 0
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'account_events');
  UPDATE sqlite_sequence SET seq = max(seq + 1, CAST(unixepoch('subsec') * 1000 AS INTEGER))
    WHERE name = 'account_events'`;
const START_ANEW = /* sql */ `
  ${SKIP_LOST};
  DELETE FROM account_events;
  INSERT INTO account_event_heads (account_id, removed_to)
    SELECT a.id, s.seq FROM accounts a, sqlite_sequence s WHERE s.name = 'account_events'
    ON CONFLICT (account_id) DO UPDATE SET removed_to = excluded.removed_to`;

/** Removes all events of a database that is a copy of an earlier one: their readers have to begin anew. */
export function startEventsAnew(database: DatabaseSync): void {
  transaction(database, () => database.exec(START_ANEW));
}

interface Row {
  readonly id: number;
  readonly at_ms: number;
  readonly event: string;
}

/** Ids are given when events are written: of two transactions one is over before the other begins. */
export class SqliteAccountEventStore implements AccountEventStore {
  readonly #database: DatabaseSync;
  readonly #signal: AppendSignal;
  readonly #append;
  readonly #read;
  readonly #removedTo;
  readonly #lastId;
  readonly #oldest;
  readonly #surplus;
  readonly #remove;
  readonly #noteRemoved;
  readonly #accounts;
  #appended: Set<string> | undefined;

  constructor(database: DatabaseSync, signal: AppendSignal) {
    this.#database = database;
    this.#signal = signal;
    this.#append = prepare(database, "INSERT INTO account_events (account_id, event) VALUES (?, ?)");
    this.#read = prepare(
      database,
      "SELECT id, at_ms, event FROM account_events WHERE account_id = ? AND id > ? ORDER BY id LIMIT ?",
    );
    this.#removedTo = prepare(database, "SELECT removed_to FROM account_event_heads WHERE account_id = ?");
    this.#lastId = prepare(database, "SELECT seq FROM sqlite_sequence WHERE name = 'account_events'");
    this.#oldest = prepare(
      database,
      `SELECT account_id AS accountId, max(id) AS lastId FROM
         (SELECT account_id, id, at_ms FROM account_events ORDER BY id LIMIT ${MAX_REMOVED_AT_ONCE})
       WHERE at_ms < ? GROUP BY account_id`,
    );
    this.#surplus = prepare(
      database,
      `SELECT id FROM account_events WHERE account_id = ? ORDER BY id DESC LIMIT 1 OFFSET ${MAX_EVENTS_PER_ACCOUNT}`,
    );
    this.#remove = prepare(
      database,
      `DELETE FROM account_events WHERE id IN
         (SELECT id FROM account_events WHERE account_id = ? AND id <= ? ORDER BY id LIMIT ${MAX_REMOVED_AT_ONCE})`,
    );
    this.#noteRemoved = prepare(
      database,
      `INSERT INTO account_event_heads (account_id, removed_to) VALUES (?, ?)
       ON CONFLICT (account_id) DO UPDATE SET removed_to = max(removed_to, excluded.removed_to)`,
    );
    this.#accounts = prepare(database, "SELECT id FROM accounts");
  }

  /** Must be called in a transaction, the one of the change that the event is about. */
  append(accountId: string, event: NewAccountEvent): void {
    this.#append.run(accountId, JSON.stringify(event));
    this.noteAppended(accountId);
  }

  /** Tells of an event that was written by a statement. Transactions run without a pause: it is committed by the next turn. */
  noteAppended(accountId: string): void {
    if (!this.#appended) {
      this.#appended = new Set();
      setImmediate(() => {
        const appended = this.#appended ?? [];
        this.#appended = undefined;
        this.#signal.emit(appended);
      });
    }
    this.#appended.add(accountId);
  }

  async read(accountId: string, after: number, limit: number): Promise<AccountEventPage> {
    const rows = this.#read.all(accountId, after, limit) as unknown as Row[];
    const head = this.#removedTo.get(accountId) as { removed_to: number } | undefined;
    const last = this.#lastId.get() as { seq: number } | undefined;
    return {
      events: rows.map(({ id, at_ms: atMs, event }) => ({ id, atMs, event: JSON.parse(event) as NewAccountEvent })),
      hasMore: rows.length === limit,
      removedTo: head?.removed_to ?? 0,
      lastId: last?.seq ?? 0,
    };
  }

  async prune(beforeMs: number): Promise<number> {
    for (;;) {
      const old = this.#oldest.all(beforeMs) as { accountId: string; lastId: number }[];
      if (old.length === 0) break;
      for (const { accountId, lastId } of old) this.#removeTo(accountId, lastId);
      await new Promise(setImmediate);
    }
    let surplus = 0;
    for (const { id: accountId } of this.#accounts.all() as { id: string }[]) {
      const last = this.#surplus.get(accountId) as { id: number } | undefined;
      if (last) surplus += await this.#removeAllTo(accountId, last.id);
    }
    return surplus;
  }

  /**
   * Sessions of devices are not synced to disk by themselves, so a power cut may have taken events that a client has read:
   * ids go on above the time of day, which is above all that were given.
   */
  async prepare(): Promise<void> {
    transaction(this.#database, () => this.#database.exec(SKIP_LOST));
  }

  async startAnew(): Promise<void> {
    startEventsAnew(this.#database);
  }

  async #removeAllTo(accountId: string, lastId: number): Promise<number> {
    let count = 0;
    for (;;) {
      const removed = this.#removeTo(accountId, lastId);
      if (removed === 0) return count;
      count += removed;
      await new Promise(setImmediate);
    }
  }

  #removeTo(accountId: string, lastId: number): number {
    return transaction(this.#database, () => {
      const { changes } = this.#remove.run(accountId, lastId);
      if (changes === 0) return 0;
      const left = this.#read.get(accountId, 0, 1) as { id: number } | undefined;
      this.#noteRemoved.run(accountId, left ? Math.min(lastId, left.id - 1) : lastId);
      return Number(changes);
    });
  }
}
