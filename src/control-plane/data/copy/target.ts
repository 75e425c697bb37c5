import type { CommandClient } from "../../store/postgres/command-client.ts";
import { requireStopped, requireUsableSchema } from "../../store/postgres/maintenance.ts";
import { type Batch, byteLength, type CopiedValue } from "./source.ts";
import { COPIED_TABLES, type CopiedTable } from "./tables.ts";

/** Rows of a table, and sums of what is in them. */
export interface Totals {
  readonly rows: bigint;
  /** Of texts and blobs. */
  readonly bytes: bigint;
  /** Sum of all numbers. */
  readonly numbers: bigint;
}

export interface CopyProgress {
  readonly lastKey: string | undefined;
  readonly isDone: boolean;
}

interface Column {
  readonly name: string;
  /** Such as `text`, `int8`, `bytea`. */
  readonly type: string;
}

const LOCK = "pg_advisory_xact_lock(hashtext('edge-control copy'))";
const TEXTS: ReadonlySet<string> = new Set(["text", "bytea"]);

/** The database that is copied into. It carries the id of the copy, and how far each table has come. */
export class CopyTarget {
  readonly #client: CommandClient;

  constructor(client: CommandClient) {
    this.#client = client;
  }

  /** Throws unless the database has the schema, and is empty or has a part of this copy. */
  async claim(copyId: string): Promise<void> {
    await requireUsableSchema(this.#client);
    await requireStopped(this.#client);
    await this.#client.transaction(async () => {
      await this.#client.query(`SELECT ${LOCK}`);
      await this.#client.query(
        `CREATE TABLE IF NOT EXISTS copy_state (id INTEGER PRIMARY KEY CHECK (id = 1), copy_id TEXT NOT NULL,
           is_done SMALLINT NOT NULL DEFAULT 0)`,
      );
      await this.#client.query(
        `CREATE TABLE IF NOT EXISTS copy_progress (table_name TEXT PRIMARY KEY, last_key TEXT,
           is_done SMALLINT NOT NULL DEFAULT 0)`,
      );
      const known = await this.#client.query<{ copy_id: string }>("SELECT copy_id FROM copy_state");
      const other = known.rows[0]?.copy_id;
      if (other !== undefined && other !== copyId) {
        throw new Error(
          "the database holds a copy of another data directory, or of an earlier state of this one; copy into an empty database",
        );
      }
      if (other !== undefined) return;
      await this.#requireEmpty();
      await this.#client.query("INSERT INTO copy_state (id, copy_id) VALUES (1, $1)", [copyId]);
    });
  }

  async progressOf({ name }: CopiedTable): Promise<CopyProgress> {
    const { rows } = await this.#client.query<{ last_key: string | null; is_done: number }>(
      "SELECT last_key, is_done FROM copy_progress WHERE table_name = $1",
      [name],
    );
    return { lastKey: rows[0]?.last_key ?? undefined, isDone: rows[0]?.is_done === 1 };
  }

  /** Writes the rows of one batch, and that they are written, in one transaction. */
  async write(table: CopiedTable, columns: readonly string[], { rows, lastKey }: Batch): Promise<void> {
    const typed = await this.#columnsOf(table, columns);
    const arrays = typed.map((_column, index) => rows.map((row) => row[index] as CopiedValue));
    const names = columns.join(", ");
    const values = typed.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");
    await this.#client.transaction(async () => {
      await this.#client.query(
        `INSERT INTO ${table.name} (${names}) SELECT * FROM unnest(${values}) ${onConflict(table, columns)}`,
        arrays,
      );
      await this.#note(table, lastKey, false);
    });
  }

  /** All rows of the table are written. */
  async finish(table: CopiedTable): Promise<void> {
    const { name, serial } = table;
    await this.#client.transaction(async () => {
      if (serial !== undefined) {
        await this.#client.query(
          `SELECT setval(pg_get_serial_sequence('${name}', '${serial}'), coalesce((SELECT max(${serial}) FROM ${name}), 0) + 1, false)`,
        );
      }
      await this.#note(table, undefined, true);
    });
  }

  async totalsOf(table: CopiedTable, columns: readonly string[]): Promise<Totals> {
    const typed = await this.#columnsOf(table, columns);
    const sum = (isText: boolean): string => {
      const terms = typed.filter(({ type }) => TEXTS.has(type) === isText);
      const sums = terms.map(({ name }) => `coalesce(sum(${isText ? `octet_length(${name})` : name}), 0)`);
      return `(${["0", ...sums].join(" + ")})::text`;
    };
    const { rows } = await this.#client.query<Record<"rows" | "bytes" | "numbers", string>>(
      `SELECT count(*)::text AS rows, ${sum(true)} AS bytes, ${sum(false)} AS numbers FROM ${table.name} WHERE ${table.where ?? "true"}`,
    );
    const { rows: count = "0", bytes = "0", numbers = "0" } = rows[0] ?? {};
    return { rows: BigInt(count), bytes: BigInt(bytes), numbers: BigInt(numbers) };
  }

  /** From now on the database can be served. */
  async complete(): Promise<void> {
    await this.#client.query("UPDATE copy_state SET is_done = 1");
  }

  async #note({ name }: CopiedTable, lastKey: string | undefined, isDone: boolean): Promise<void> {
    await this.#client.query(
      `INSERT INTO copy_progress (table_name, last_key, is_done) VALUES ($1, $2, $3)
       ON CONFLICT (table_name) DO UPDATE SET last_key = coalesce(excluded.last_key, copy_progress.last_key), is_done = excluded.is_done`,
      [name, lastKey, isDone ? 1 : 0],
    );
  }

  async #requireEmpty(): Promise<void> {
    for (const { name } of COPIED_TABLES) {
      const { rowCount } = await this.#client.query(`SELECT 1 FROM ${name} LIMIT 1`);
      if (rowCount > 0)
        throw new Error(`the database is not empty: it has rows in ${name}; copy into an empty database`);
    }
  }

  /** Throws if PostgreSQL lacks one of the columns: then a value would be lost. */
  async #columnsOf({ name }: CopiedTable, columns: readonly string[]): Promise<readonly Column[]> {
    const { rows } = await this.#client.query<Column>(
      `SELECT column_name AS name, udt_name AS type FROM information_schema.columns
       WHERE table_schema = current_schema() AND table_name = $1`,
      [name],
    );
    return columns.map((column) => {
      const found = rows.find((each) => each.name === column);
      if (!found) throw new Error(`the database has no column ${column} in ${name}`);
      return found;
    });
  }
}

function onConflict({ replaces }: CopiedTable, columns: readonly string[]): string {
  if (replaces === undefined) return "";
  const changes = columns.filter((column) => column !== replaces).map((column) => `${column} = excluded.${column}`);
  return `ON CONFLICT (${replaces}) DO UPDATE SET ${changes.join(", ")}`;
}

/** Sums of the rows of a batch, added to those before. */
export function addTotals(before: Totals, rows: Batch["rows"]): Totals {
  let { bytes, numbers } = before;
  for (const value of rows.flat()) {
    bytes += BigInt(byteLength(value));
    if (typeof value === "number") numbers += BigInt(value);
  }
  return { rows: before.rows + BigInt(rows.length), bytes, numbers };
}
