import type { AuditEntry } from "../audit.ts";
import { recordAudit } from "./audit.ts";
import type { UsageRecord } from "../usage.ts";
import type { ConnectionExecutor } from "./executor.ts";
import { change, one, type Value, type Work } from "./statement.ts";

/** Records of the staging table that one statement stores, so that none takes long. */
const SLICE_RECORDS = 20_000;

const COLUMNS = "iccid, start_time, bucket, bytes";
const KEY = "iccid, start_time, bucket";
const REPLACE = `ON CONFLICT (${KEY}) DO UPDATE SET bytes = excluded.bytes`;

type Key = readonly [iccid: string, startTime: number, bucket: string];

/** Before the key of every record. */
const FIRST_KEY: Key = ["", -1, ""];

/**
 * A temporary table with the records of one import. Neither a transaction is open nor a lock taken while a slow source is
 * read, and all records are stored together.
 */
export class UsageStaging implements AsyncDisposable {
  readonly #connection: ConnectionExecutor;
  readonly #table: string;
  readonly #insertOne: string;
  readonly #insertMany: string;

  private constructor(connection: ConnectionExecutor, table: string) {
    this.#connection = connection;
    this.#table = table;
    this.#insertOne = insertSql(table, 1);
    this.#insertMany = insertSql(table, connection.dialect.rowsPerInsert);
  }

  static async create(connection: ConnectionExecutor): Promise<UsageStaging> {
    const table = connection.temporaryTable("usage_staging");
    await connection.change(
      `CREATE TEMPORARY TABLE ${table} AS SELECT ${COLUMNS} FROM usage_series JOIN usage_records ON series_id = id LIMIT 0`,
    );
    const staging = new UsageStaging(connection, table);
    await connection.change(`CREATE UNIQUE INDEX ${table}_key ON ${table} (${KEY})`);
    return staging;
  }

  /** Reads the source to its end. A later record replaces an earlier one with the same key. */
  async fill(records: AsyncIterable<UsageRecord>): Promise<void> {
    const { rowsPerInsert } = this.#connection.dialect;
    let chunk: UsageRecord[] = [];
    for await (const record of records) {
      chunk.push(record);
      if (chunk.length < rowsPerInsert) continue;
      await this.#insertAll(chunk, rowsPerInsert);
      chunk = [];
    }
    await this.#insertAll(chunk, rowsPerInsert);
  }

  /** Stores the records of SIMs that an asset has, in one transaction. Returns how many were new or have changed. */
  async merge(audit: ((stored: number) => AuditEntry | undefined) | undefined): Promise<number> {
    return this.#connection.transact(() => this.#merge(audit));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#connection.change(`DROP TABLE ${this.#table}`);
    } catch {
      // If the connection is lost, so is the table, and the error that ended the import says why.
    }
  }

  async #insertAll(chunk: readonly UsageRecord[], rowsPerInsert: number): Promise<void> {
    if (chunk.length === rowsPerInsert && !hasRepeatedKey(chunk)) {
      await this.#connection.change(this.#insertMany, chunk.flatMap(valuesOf));
      return;
    }
    // One by one: a statement must not name a key twice, and there are two statements to prepare.
    for (const record of chunk) await this.#connection.change(this.#insertOne, valuesOf(record));
  }

  *#merge(audit: ((stored: number) => AuditEntry | undefined) | undefined): Work<number> {
    let after = FIRST_KEY;
    let stored = 0;
    for (let last: Key | undefined = after; last;) {
      last = yield* this.#findLastOfSlice(after);
      stored += yield* this.#mergeSlice(after, last);
      if (last) after = last;
    }
    const entry = audit?.(stored);
    if (entry) yield* recordAudit(entry);
    return stored;
  }

  /** Returns the last key of a whole slice; `undefined` if fewer records are left. */
  *#findLastOfSlice(after: Key): Work<Key | undefined> {
    const row = yield* one<{ readonly iccid: string; readonly start_time: number; readonly bucket: string }>(
      `SELECT ${KEY} FROM ${this.#table} WHERE (${KEY}) > (?, ?, ?) ORDER BY ${KEY} LIMIT 1 OFFSET ${SLICE_RECORDS - 1}`,
      after,
    );
    return row && [row.iccid, row.start_time, row.bucket];
  }

  /** Ordered by the primary key, so that pages are written in sequence and imports do not wait for each other crosswise. */
  *#mergeSlice(after: Key, last: Key | undefined): Work<number> {
    const [range, parameters]: [string, Key | readonly Value[]] =
      last === undefined
        ? [`(${KEY}) > (?, ?, ?)`, after]
        : [`(${KEY}) > (?, ?, ?) AND (${KEY}) <= (?, ?, ?)`, [...after, ...last]];
    const { keepRows } = this.#connection.dialect;
    if (keepRows !== "") {
      const iccids = `SELECT iccid FROM ${this.#table} WHERE ${range}`;
      const sims = `SELECT iccid FROM sims WHERE iccid IN (${iccids}) ORDER BY iccid ${keepRows}`;
      // The usage of an asset that is being removed must not be stored after that.
      yield* one(`SELECT count(*) AS kept FROM (${sims}) AS sims_of_slice`, parameters);
    }
    const slice = `(SELECT ${COLUMNS} FROM ${this.#table} WHERE ${range} AND iccid IN (SELECT iccid FROM sims)) AS slice`;
    yield* change(
      `INSERT INTO usage_series (iccid, bucket) SELECT DISTINCT iccid, bucket FROM ${slice}
       WHERE (iccid, bucket) NOT IN (SELECT iccid, bucket FROM usage_series) ORDER BY iccid, bucket ON CONFLICT DO NOTHING`,
      parameters,
    );
    return yield* change(
      // What is there already is not written again, nor counted.
      `INSERT INTO usage_records (series_id, start_time, bytes) SELECT id, start_time, bytes FROM ${slice}
       JOIN usage_series USING (iccid, bucket) WHERE true ORDER BY id, start_time
       ON CONFLICT (series_id, start_time) DO UPDATE SET bytes = excluded.bytes
         WHERE usage_records.bytes <> excluded.bytes`,
      parameters,
    );
  }
}

function insertSql(table: string, rows: number): string {
  return `INSERT INTO ${table} (${COLUMNS}) VALUES ${Array(rows).fill("(?, ?, ?, ?)").join(", ")} ${REPLACE}`;
}

/** Returns the values of `COLUMNS`. */
function valuesOf({ iccid, startTime, bucket, bytes }: UsageRecord): Value[] {
  return [iccid, startTime, bucket, bytes];
}

function hasRepeatedKey(records: readonly UsageRecord[]): boolean {
  if (records.length === 1) return false;
  const keys = records.map(({ iccid, startTime, bucket }) => JSON.stringify([iccid, startTime, bucket]));
  return new Set(keys).size < records.length;
}
