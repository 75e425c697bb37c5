import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { openSqlite, truncateWal } from "../../../lib/sqlite.ts";
import { CachedKeyStore } from "../cached-keys.ts";
import { SqlKeyStore } from "../sql/keys.ts";
import { sqlStores } from "../sql/sql-stores.ts";
import { SqliteExecutor } from "../sql/sqlite-executor.ts";
import type { Store } from "../store.ts";
import { AppendSignal } from "../account-events.ts";
import { SqliteAccountEventStore } from "./account-events.ts";
import { SqliteAssetStates } from "./asset-states.ts";
import { CommitQueue } from "./commit-queue.ts";
import { SqliteDeploymentStore } from "./deployments.ts";
import { SqliteDeviceStore } from "./devices.ts";
import { SqliteInstanceStore } from "./instances.ts";
import { SqliteLeaseStore } from "./leases.ts";
import { MIGRATIONS } from "./migrations.ts";
import { SqliteSessionStore } from "./sessions.ts";
import { SqliteStoreStatistics } from "./statistics.ts";

/** Opens or creates the database file; `:memory:` for a temporary one. Throws as `openSqlite` does. */
export function openStore(path: string): Store {
  const database = openSqlite(path, { migrations: MIGRATIONS });
  const appended = new AppendSignal();
  const accountEvents = new SqliteAccountEventStore(database, appended);
  const executor = new SqliteExecutor(database, (accountId) => accountEvents.noteAppended(accountId));
  const commits = new CommitQueue(database);
  const states = new SqliteAssetStates(database, accountEvents);
  const ping = database.prepare("SELECT 1 FROM accounts LIMIT 1");
  const { keys, onKeysRevoked, accessVersions } = cacheKeys(database, executor);
  return {
    ...sqlStores(executor, onKeysRevoked),
    isShared: false,
    keys,
    deployments: new SqliteDeploymentStore(database, commits, states),
    devices: new SqliteDeviceStore(database, commits, states),
    sessions: new SqliteSessionStore(database, commits, states),
    instances: new SqliteInstanceStore(database),
    leases: new SqliteLeaseStore(database),
    accountEvents,
    onAccountEvents: (listener) => appended.add(listener),
    statistics: new SqliteStoreStatistics(database, path),
    async check() {
      ping.get();
    },
    async truncateWal() {
      return isEmpty(`${path}-wal`) || truncateWal(database);
    },
    accessVersions,
    async [Symbol.asyncDispose]() {
      commits[Symbol.dispose]();
      close(database);
    },
  };
}

/** The keys in memory, which a change by any process drops. */
function cacheKeys(database: DatabaseSync, executor: SqliteExecutor) {
  const version = database.prepare("PRAGMA data_version");
  const readVersion = (): number => Number(version.get()?.["data_version"]);
  let ownRevocations = 0;
  const keys = new CachedKeyStore(new SqlKeyStore(executor), readVersion, () => ownRevocations++);
  return {
    keys,
    onKeysRevoked: (): void => {
      ownRevocations++;
      keys.clear();
    },
    accessVersions: async () => {
      // That of the database does not change with what this process does, and does not say what was written.
      const people = readVersion();
      return { machines: people + ownRevocations, people };
    },
  };
}

function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function close(database: DatabaseSync): void {
  if (database.isOpen) database.close();
}
