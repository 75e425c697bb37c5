import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { COPIED_TABLES, type CopiedTable, OMITTED_TABLES } from "./tables.ts";

/** What a row of SQLite consists of. Values in the order of the columns. */
export type CopiedValue = string | number | Buffer | null;

export interface Batch {
  readonly rows: readonly (readonly CopiedValue[])[];
  /** Where the next batch begins, as JSON. */
  readonly lastKey: string;
}

/** Bounds of one transaction. A single row may be larger. */
const MAX_BATCH_ROWS = 1_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Reads one table of the database that is copied, in the order of its key. */
export class SourceTable {
  readonly columns: readonly string[];
  readonly #table: CopiedTable;
  readonly #first: StatementSync;
  readonly #next: StatementSync;

  constructor(database: DatabaseSync, table: CopiedTable) {
    const { name, key, computed = {}, omitted = [], where = "1" } = table;
    const own = columnsOf(database, name).filter((column) => !omitted.includes(column));
    this.columns = [...new Set([...own, ...Object.keys(computed)])];
    this.#table = table;
    const fields = this.columns.map((column) => `${computed[column] ?? column} AS ${column}`);
    const keys = key.map((column, index) => `${column} AS key_${index}`);
    const select = `SELECT ${[...fields, ...keys].join(", ")} FROM ${name} WHERE ${where}`;
    const order = `ORDER BY ${key.join(", ")} LIMIT ${MAX_BATCH_ROWS}`;
    this.#first = database.prepare(`${select} ${order}`);
    this.#next = database.prepare(`${select} AND (${key.join(", ")}) > (${key.map(() => "?").join(", ")}) ${order}`);
  }

  /** Returns the rows behind `after`, at most a batch of them; `undefined` if there are none. */
  read(after: string | undefined): Batch | undefined {
    const found = after === undefined ? this.#first.iterate() : this.#next.iterate(...decodeKey(after));
    const rows: CopiedValue[][] = [];
    let bytes = 0;
    let last: Record<string, unknown> | undefined;
    for (const row of found) {
      last = row;
      const values = this.columns.map((column) => toValue(row[column]));
      rows.push(values);
      bytes += values.reduce<number>((sum, value) => sum + byteLength(value), 0);
      if (bytes >= MAX_BATCH_BYTES) break;
    }
    return last && { rows, lastKey: encodeKey(this.#table.key.map((_name, index) => last?.[`key_${index}`])) };
  }
}

/** Bytes of a text or blob, as both databases count them. */
export function byteLength(value: CopiedValue): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  return Buffer.isBuffer(value) ? value.length : 0;
}

/** Throws if the database has a table that is neither copied nor left out on purpose. */
export function requireKnownTables(database: DatabaseSync): void {
  const known = new Set([...COPIED_TABLES.map(({ name }) => name), ...OMITTED_TABLES]);
  const found = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  const unknown = found.map((row) => String(row["name"])).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`the database has tables that copy does not know: ${unknown.join(", ")}`);
}

function columnsOf(database: DatabaseSync, table: string): string[] {
  return database
    .prepare(`SELECT name FROM pragma_table_info(?)`)
    .all(table)
    .map((row) => String(row["name"]));
}

/** PostgreSQL has no NUL in texts. Nothing that edge-control accepts today has one. */
function toValue(value: unknown): CopiedValue {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\u{FFFD}") : value;
  if (value instanceof Uint8Array) return Buffer.from(value);
  return value as number | null;
}

function encodeKey(values: readonly unknown[]): string {
  return JSON.stringify(
    values.map((value) => (value instanceof Uint8Array ? { hex: Buffer.from(value).toString("hex") } : value)),
  );
}

function decodeKey(key: string): SQLInputValue[] {
  const values = JSON.parse(key) as (string | number | { readonly hex: string })[];
  return values.map((value) => (typeof value === "object" ? Buffer.from(value.hex, "hex") : value));
}
