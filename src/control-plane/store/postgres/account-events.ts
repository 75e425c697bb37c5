import { reasonsOfBits } from "../../core/attention.ts";
import type { NewAccountEvent } from "../../core/account-event.ts";
import { type AccountEventPage, type AccountEventStore, MAX_EVENTS_PER_ACCOUNT } from "../account-events.ts";
import { type PostgresPool, repeatOnConflict } from "./pool.ts";

/** Events that get their ids, or are removed, in one transaction. */
const MAX_AT_ONCE = 2_000;

const NOW_MS = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

const READ = /* sql */ `
  SELECT h.last_id AS "lastId", h.removed_to AS "removedTo",
    EXISTS (SELECT 1 FROM account_events u WHERE u.account_id = $1 AND u.id IS NULL) AS "hasMore",
    e.id, e.at_ms AS "atMs", e.event
  FROM (SELECT 1) one LEFT JOIN account_event_heads h ON h.account_id = $1
  LEFT JOIN LATERAL (
    SELECT id, at_ms, event FROM account_events
    WHERE account_id = $1 AND id > $2 AND id IS NOT NULL ORDER BY id LIMIT $3
  ) e ON true ORDER BY e.id`;
const ADD_HEAD = "INSERT INTO account_event_heads (account_id) VALUES ($1) ON CONFLICT DO NOTHING";
/**
 * Gives ids to events that are committed. Readers that do so at the same time wait for the row of the account, one after the
 * other: the later one gives higher ids. Writers of events do not wait.
 */
const LOCK_HEAD = "SELECT last_id FROM account_event_heads WHERE account_id = $1 FOR NO KEY UPDATE";
const NUMBER = /* sql */ `
  WITH head AS MATERIALIZED (
    SELECT last_id FROM account_event_heads WHERE account_id = $1
  ), found AS MATERIALIZED (
    SELECT seq, row_number() OVER (ORDER BY seq) AS position FROM (
      SELECT seq FROM account_events WHERE account_id = $1 AND id IS NULL ORDER BY seq LIMIT ${MAX_AT_ONCE}) first_events
  ), numbered AS (
    UPDATE account_events e SET id = h.last_id + f.position FROM found f, head h WHERE e.seq = f.seq
  )
  UPDATE account_event_heads SET last_id = last_id + (SELECT count(*) FROM found) WHERE account_id = $1
  RETURNING (SELECT count(*) FROM found) AS found`;

const OLD_ACCOUNTS = /* sql */ `
  SELECT DISTINCT account_id FROM (SELECT account_id, at_ms FROM account_events ORDER BY seq LIMIT ${MAX_AT_ONCE}) oldest
  WHERE at_ms < $1`;
const ACCOUNTS = "SELECT id FROM accounts ORDER BY id";
const REMOVE_OLD = /* sql */ `
  WITH removed AS (
    DELETE FROM account_events WHERE seq IN (
      SELECT seq FROM account_events WHERE account_id = $1 AND id IS NOT NULL AND at_ms < $2
      ORDER BY id LIMIT ${MAX_AT_ONCE})
    RETURNING id)
  UPDATE account_event_heads SET removed_to = greatest(removed_to, (SELECT max(id) FROM removed))
  WHERE account_id = $1 AND EXISTS (SELECT 1 FROM removed)`;
const REMOVE_SURPLUS = /* sql */ `
  WITH cut AS MATERIALIZED (
    SELECT id FROM account_events WHERE account_id = $1 AND id IS NOT NULL ORDER BY id DESC
    LIMIT 1 OFFSET ${MAX_EVENTS_PER_ACCOUNT}
  ), removed AS (
    DELETE FROM account_events WHERE seq IN (
      SELECT seq FROM account_events WHERE account_id = $1 AND id <= (SELECT id FROM cut) AND id IS NOT NULL
      ORDER BY id LIMIT ${MAX_AT_ONCE})
    RETURNING id
  ), noted AS (
    UPDATE account_event_heads SET removed_to = greatest(removed_to, (SELECT max(id) FROM removed))
    WHERE account_id = $1 AND EXISTS (SELECT 1 FROM removed)
  )
  SELECT count(*) AS removed FROM removed`;
/** Removes all events: their readers have to begin anew. */
export const START_EVENTS_ANEW = /* sql */ `
  WITH gone AS (DELETE FROM account_events), started AS MATERIALIZED (SELECT ${NOW_MS} AS at)
  UPDATE account_event_heads SET last_id = greatest(last_id + 1, at), removed_to = greatest(last_id + 1, at) FROM started`;

interface Row {
  readonly lastId: number | null;
  readonly removedTo: number | null;
  readonly hasMore: boolean;
  readonly id: number | null;
  readonly atMs: number;
  readonly event: string;
}

/**
 * Events get their ids when they are read, or removed: a sequence would give them in another order than that of the commits,
 * and readers would miss those that are committed later.
 */
export class PostgresAccountEventStore implements AccountEventStore {
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async read(accountId: string, after: number, limit: number): Promise<AccountEventPage> {
    const first = await this.#pool.query<Row>(READ, [accountId, after, limit]);
    const [head] = first.rows;
    const isNumbered = head?.lastId !== null && head?.hasMore === false;
    // A full page is read on from its end, whatever follows.
    const isFull = first.rows.filter(({ id }) => id !== null).length === limit;
    if (isNumbered || isFull) return toPage(first.rows, limit, isNumbered);
    const isAll = await this.#number(accountId);
    return toPage((await this.#pool.query<Row>(READ, [accountId, after, limit])).rows, limit, isAll);
  }

  async prune(beforeMs: number): Promise<number> {
    let surplus = 0;
    const { rows: accounts } = await this.#pool.query<{ id: string }>(ACCOUNTS, []);
    for (const { id } of accounts) {
      // Without a reader they have no ids yet.
      while (!(await this.#number(id)));
      for (let removed = 1; removed > 0;) {
        const result = await repeatOnConflict(() => this.#pool.query<{ removed: number }>(REMOVE_SURPLUS, [id]));
        removed = result.rows[0]?.removed ?? 0;
        surplus += removed;
      }
    }
    for (;;) {
      const { rows } = await this.#pool.query<{ account_id: string }>(OLD_ACCOUNTS, [beforeMs]);
      if (rows.length === 0) break;
      for (const { account_id: id } of rows) await repeatOnConflict(() => this.#pool.query(REMOVE_OLD, [id, beforeMs]));
    }
    return surplus;
  }

  async prepare(): Promise<void> {
    // A transaction that was answered is not lost, nor is the id that its account had reached.
  }

  async startAnew(): Promise<void> {
    await repeatOnConflict(() => this.#pool.query(START_EVENTS_ANEW, []));
  }

  /** Returns whether all events that are committed have ids. */
  async #number(accountId: string): Promise<boolean> {
    return this.#pool.transaction(async (client) => {
      await client.query(ADD_HEAD, [accountId]);
      await client.query(LOCK_HEAD, [accountId]);
      const { rows } = await client.query<{ found: number }>(NUMBER, [accountId]);
      return (rows[0]?.found ?? 0) < MAX_AT_ONCE;
    });
  }
}

function toPage(rows: readonly Row[], limit: number, isAll: boolean): AccountEventPage {
  const [head] = rows;
  const events = rows.flatMap(({ id, atMs, event }) => (id === null ? [] : [{ id, atMs, event: parse(event) }]));
  const lastId = head?.lastId ?? 0;
  return { events, hasMore: events.length === limit || !isAll, removedTo: head?.removedTo ?? 0, lastId };
}

/** A statement stores the reasons of an asset as it has them. */
function parse(text: string): NewAccountEvent {
  const event = JSON.parse(text) as NewAccountEvent & { readonly attention?: unknown };
  if (typeof event.attention !== "number") return event;
  return { ...event, attention: reasonsOfBits(event.attention) } as NewAccountEvent;
}
