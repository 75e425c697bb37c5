import type { Queryable } from "../sql/postgres-executor.ts";
import { START_EVENTS_ANEW } from "./account-events.ts";
import { CommandClient } from "./command-client.ts";
import { findSchemaError, readSchemaVersion, SchemaError } from "./migrations.ts";
import type { PostgresOptions } from "./options.ts";

/** Throws a `SchemaError` unless this program can use the schema of the database. */
export async function requireUsableSchema(client: Queryable): Promise<void> {
  const error = findSchemaError(await readSchemaVersion(client));
  if (error !== undefined) throw new SchemaError(error);
}

/** Throws while an instance of the service uses the database. */
export async function requireStopped(client: Queryable): Promise<void> {
  const { rows } = await client.query<{ ids: string | null }>(
    `SELECT string_agg(i.id, ', ') AS ids FROM instances i, service_state s
     WHERE i.lease_until_ms > extract(epoch FROM clock_timestamp()) * 1000 - s.clock_shift_ms`,
  );
  const ids = rows[0]?.ids;
  if (ids !== null && ids !== undefined)
    throw new Error(`the database is in use by ${ids}; stop every edge-control first`);
}

/** Throws while the database holds a part of what `edge-control copy` brings to it. */
export async function requireCompleteCopy(options: PostgresOptions): Promise<void> {
  await using client = await CommandClient.connect(options);
  const { rows: tables } = await client.query("SELECT 1 WHERE to_regclass('copy_state') IS NOT NULL");
  if (tables.length === 0) return;
  const { rows } = await client.query<{ is_done: number }>("SELECT is_done FROM copy_state");
  if (rows[0]?.is_done !== 0) return;
  throw new Error("the database holds an incomplete copy; run edge-control copy again, which continues it");
}

/**
 * Marks the outcomes of unfinished deployments as uncertain, as a backup of SQLite has them: the next start of the service
 * asks the devices before anything is undone. Removes sessions and unused codes of users, which may have been ended or used
 * since the backup was made. Returns how many deployments there are.
 */
export async function markUnfinishedRestored(options: PostgresOptions): Promise<number> {
  await using client = await CommandClient.connect(options);
  await requireUsableSchema(client);
  await requireStopped(client);
  return await client.transaction(async () => {
    await client.query("DELETE FROM user_sessions");
    // A reader of the backup knows them.
    await client.query("DELETE FROM bus_keys");
    await client.query(START_EVENTS_ANEW);
    await client.query("DELETE FROM login_requests");
    await client.query("DELETE FROM idempotent_requests");
    await client.query("DELETE FROM browser_tokens");
    await client.query("DELETE FROM one_time_codes WHERE used_at IS NULL");
    const { rowCount } = await client.query(
      "UPDATE deployments SET uncertainty = 'backup', version = version + 1 WHERE status = 'Running'",
    );
    return rowCount;
  });
}
