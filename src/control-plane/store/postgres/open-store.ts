import { findSchemaError, readSchemaVersion, SchemaError } from "./migrations.ts";
import type { PostgresOptions } from "./options.ts";
import { PostgresPool } from "./pool.ts";

/** What is stored in PostgreSQL so far. */
export interface PostgresStore extends AsyncDisposable {
  check(): Promise<void>;
}

/**
 * Opens the store in a database that `migratePostgres` has prepared. Throws a `SchemaError` if its schema is not one that
 * this program can use, and a `StoreUnavailableError` if the server cannot be reached.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  await using owner = new AsyncDisposableStack();
  const pool = owner.use(new PostgresPool(options));
  const error = findSchemaError(await readSchemaVersion(pool));
  if (error !== undefined) throw new SchemaError(error);
  owner.move();
  return {
    async check() {
      await pool.query("SELECT 1 FROM accounts LIMIT 1");
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
