import { randomUUID } from "node:crypto";
import { openSqlite } from "../../../lib/sqlite.ts";
import { CommandClient } from "../../store/postgres/command-client.ts";
import type { PostgresOptions } from "../../store/postgres/options.ts";
import { MIGRATIONS } from "../../store/sqlite/migrations.ts";
import { StoreUnavailableError } from "../../store/unavailable.ts";
import { readCopiedMark, removeCopiedMark, writeCopiedMark } from "../copied-mark.ts";
import { requireKnownTables, SourceTable } from "./source.ts";
import { COPIED_TABLES } from "./tables.ts";
import { addTotals, CopyTarget, type Totals } from "./target.ts";

/** What was copied of one table. */
export interface CopiedRows {
  readonly table: string;
  readonly rows: number;
  readonly bytes: number;
}

export interface CopyOptions {
  /** Path of the SQLite database. The caller holds the lock of its directory. */
  readonly database: string;
  readonly to: PostgresOptions;
  /** The target, for people. */
  readonly target: string;
  /** Called after each transaction. */
  readonly onProgress?: (table: string, rows: number) => void;
}

const NOTHING: Totals = { rows: 0n, bytes: 0n, numbers: 0n };

/**
 * Copies a SQLite database, which is migrated first as at a start of the service, into a PostgreSQL database that has the
 * schema and nothing else. May be repeated after it was interrupted at any point. Returns what both databases have, after
 * it was compared; `undefined` if it was copied there before. Throws if they differ.
 */
export async function copyDatabase(options: CopyOptions): Promise<CopiedRows[] | undefined> {
  const { database: path, to, target: name } = options;
  const database = openSqlite(path, { migrations: MIGRATIONS });
  try {
    requireKnownTables(database);
    const earlier = readCopiedMark(path);
    if (earlier?.isComplete && earlier.target === name) return undefined;
    if (earlier?.isComplete) throw new Error(`it was copied to ${earlier.target} already`);
    const mark = { copyId: earlier?.copyId ?? randomUUID(), target: name, isComplete: false };
    await using client = await CommandClient.connect(to);
    const target = new CopyTarget(client);
    // Marked first: from here on the directory must not change any more.
    await writeCopiedMark(path, mark);
    await target.claim(mark.copyId).catch(async (error: unknown) => {
      // Nothing was copied: the directory is what it was.
      if (!earlier && !(error instanceof StoreUnavailableError)) await removeCopiedMark(path);
      throw error;
    });
    const result: CopiedRows[] = [];
    for (const table of COPIED_TABLES) {
      const source = new SourceTable(database, table);
      const { lastKey, isDone } = await target.progressOf(table);
      if (!isDone) await copyTable(source, lastKey, table, target, options);
      result.push(await compare(source, table, target));
    }
    await target.complete();
    await writeCopiedMark(path, { ...mark, isComplete: true });
    return result;
  } finally {
    database.close();
  }
}

async function copyTable(
  source: SourceTable,
  begin: string | undefined,
  table: (typeof COPIED_TABLES)[number],
  target: CopyTarget,
  { onProgress }: CopyOptions,
): Promise<void> {
  let rows = 0;
  let after = begin;
  for (let batch = source.read(after); batch; batch = source.read(after)) {
    await target.write(table, source.columns, batch);
    after = batch.lastKey;
    rows += batch.rows.length;
    onProgress?.(table.name, rows);
  }
  await target.finish(table);
}

async function compare(
  source: SourceTable,
  table: (typeof COPIED_TABLES)[number],
  target: CopyTarget,
): Promise<CopiedRows> {
  let totals = NOTHING;
  let after: string | undefined;
  for (let batch = source.read(after); batch; batch = source.read(after)) {
    totals = addTotals(totals, batch.rows);
    after = batch.lastKey;
  }
  const copied = await target.totalsOf(table, source.columns);
  if (copied.rows !== totals.rows || copied.bytes !== totals.bytes || copied.numbers !== totals.numbers) {
    throw new Error(
      `the copy of ${table.name} differs: ${describe(totals)} in the data directory, ${describe(copied)} in PostgreSQL; ` +
        "copy again into an empty database",
    );
  }
  return { table: table.name, rows: Number(totals.rows), bytes: Number(totals.bytes) };
}

function describe({ rows, bytes, numbers }: Totals): string {
  return `${rows} rows with ${bytes} bytes and numbers of the sum ${numbers}`;
}
