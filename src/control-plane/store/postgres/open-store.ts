import { SqlKeyStore } from "../sql/keys.ts";
import { PostgresExecutor } from "../sql/postgres-executor.ts";
import { sqlStores } from "../sql/sql-stores.ts";
import type { AccessVersions, Store } from "../store.ts";
import { AppendSignal } from "../account-events.ts";
import { PostgresAccountEventStore } from "./account-events.ts";
import { PostgresDeploymentStore } from "./deployments.ts";
import { PostgresDeviceStore } from "./devices.ts";
import { PostgresInstanceStore } from "./instances.ts";
import { PostgresLeaseStore } from "./leases.ts";
import { findSchemaError, readSchemaVersion, SchemaError } from "./migrations.ts";
import type { PostgresOptions } from "./options.ts";
import { PostgresPool } from "./pool.ts";
import { PostgresSessionStore } from "./sessions.ts";
import { PostgresStoreStatistics } from "./statistics.ts";

/**
 * Opens the store in a database that `migratePostgres` has prepared. Throws a `SchemaError` if its schema is not one that
 * this program can use, and a `StoreUnavailableError` if the server cannot be reached.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  await using owner = new AsyncDisposableStack();
  const pool = owner.use(new PostgresPool(options));
  const error = findSchemaError(await readSchemaVersion(pool));
  if (error !== undefined) throw new SchemaError(error);
  owner.move();
  return postgresStoreOn(pool);
}

/** The store on connections to such a database. Disposing it closes them. */
export function postgresStoreOn(pool: PostgresPool): Store {
  const appended = new AppendSignal();
  const executor = new PostgresExecutor(pool, (accountIds) => appended.emit(accountIds));
  return {
    ...sqlStores(executor),
    isShared: true,
    keys: new SqlKeyStore(executor),
    deployments: new PostgresDeploymentStore(pool, appended),
    devices: new PostgresDeviceStore(pool, appended),
    sessions: new PostgresSessionStore(pool, appended),
    instances: new PostgresInstanceStore(pool),
    leases: new PostgresLeaseStore(pool),
    accountEvents: new PostgresAccountEventStore(pool),
    onAccountEvents: (listener) => appended.add(listener),
    statistics: new PostgresStoreStatistics(pool),
    async check() {
      await pool.query("SELECT 1 FROM accounts LIMIT 1", []);
    },
    /** The server looks after its own log. */
    async truncateWal() {
      return true;
    },
    async accessVersions() {
      const { rows } = await pool.query<AccessVersions>(
        "SELECT version AS machines, people_version AS people FROM access_version",
        [],
      );
      return rows[0] ?? { machines: 0, people: 0 };
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
