import pg from "pg";
import { toStoreError } from "./errors.ts";
import type { PostgresOptions } from "./options.ts";
import { clientConfig, connectError } from "./pool.ts";
import { SCHEMA_STEPS, type SchemaStep } from "./schema.ts";

/** Any number that no other program uses for the same database: of two that migrate at a time, one waits. */
const MIGRATION_LOCK = 7_310_579_612_418;

const MIN_SERVER_VERSION = 150_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** A step waits this long for a table that a serving instance uses, so that others do not queue up behind it. */
const LOCK_TIMEOUT_MS = 5_000;

const SCHEMA_TABLE = /* sql */ `
  CREATE TABLE IF NOT EXISTS schema_version (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    -- The lowest version whose programs can work with this schema.
    compatible_from INTEGER NOT NULL
  )`;

/** The version of the schema of a database. */
export interface SchemaVersion {
  /** 0 for an empty database. */
  readonly version: number;
  readonly compatibleFrom: number;
}

/** The schema of the database cannot be used by this program. The message says what to do. */
export class SchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SchemaError";
  }
}

/** The version of the schema that this program makes and knows. */
export function knownSchemaVersion(steps: readonly SchemaStep[] = SCHEMA_STEPS): number {
  return steps.at(-1)?.version ?? 0;
}

/** Returns why this program cannot serve with the schema; `undefined` if it can. */
export function findSchemaError(
  { version, compatibleFrom }: SchemaVersion,
  known = knownSchemaVersion(),
): string | undefined {
  if (version === 0) return "the database has no schema; run edge-control migrate";
  if (version < known)
    return `the database has schema version ${version}, this program needs ${known}; run edge-control migrate`;
  if (compatibleFrom > known)
    return `the database has schema version ${version}, this program knows up to ${known}; run a newer release`;
  return undefined;
}

/** Migrates the database to the schema of this program, and returns the version before and after. Never migrates back. */
export async function migratePostgres(
  options: PostgresOptions,
  steps: readonly SchemaStep[] = SCHEMA_STEPS,
): Promise<{ readonly from: number; readonly to: number }> {
  const client = new pg.Client({ ...clientConfig(options), connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // Errors of the connection are those of the query that is under way.
  client.on("error", () => {});
  try {
    await client.connect().catch((error: unknown) => {
      throw connectError(error);
    });
    await requireServer(client);
    // Released with the connection.
    await client.query("SELECT pg_advisory_lock($1)", [MIGRATION_LOCK]);
    return await migrate(client, steps);
  } catch (error) {
    throw error instanceof SchemaError ? error : toStoreError(error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Reads the version of the schema. */
export async function readSchemaVersion(client: Reader): Promise<SchemaVersion> {
  const { rows: tables } = await client.query("SELECT 1 WHERE to_regclass('schema_version') IS NOT NULL");
  if (tables.length === 0) return { version: 0, compatibleFrom: 0 };
  const { rows } = await client.query('SELECT version, compatible_from AS "compatibleFrom" FROM schema_version');
  return (rows[0] as SchemaVersion | undefined) ?? { version: 0, compatibleFrom: 0 };
}

interface Reader {
  query(text: string): Promise<{ readonly rows: readonly unknown[] }>;
}

async function migrate(client: pg.Client, steps: readonly SchemaStep[]): Promise<{ from: number; to: number }> {
  const { version: from, compatibleFrom } = await readSchemaVersion(client);
  const known = knownSchemaVersion(steps);
  if (compatibleFrom > known) throw new SchemaError(findSchemaError({ version: from, compatibleFrom }, known) ?? "");
  for (const step of steps.filter(({ version }) => version > from)) await apply(client, step);
  return { from, to: Math.max(from, known) };
}

/** A step and its number are stored in one transaction, so that a migration that was interrupted goes on with the next. */
async function apply(client: pg.Client, { version, compatibleFrom, sql }: SchemaStep): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(SCHEMA_TABLE);
    await client.query(sql);
    await client.query(
      `INSERT INTO schema_version (id, version, compatible_from) VALUES (1, $1, $2)
       ON CONFLICT (id) DO UPDATE SET version = excluded.version, compatible_from = excluded.compatible_from`,
      [version, compatibleFrom],
    );
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** Throws unless the server and the encoding of the database are known to work. */
async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding`,
  );
  const [server] = rows;
  if (!server || server.number < MIN_SERVER_VERSION)
    throw new SchemaError(`the server is PostgreSQL ${server?.version ?? "?"}; edge-control needs 15 or newer`);
  if (server.encoding !== "UTF8")
    throw new SchemaError(`the database has the encoding ${server.encoding}; create one with the encoding UTF8`);
}
