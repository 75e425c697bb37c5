import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { openSqlite, truncateWal } from "../../../lib/sqlite.ts";
import { CachedKeyStore } from "../cached-keys.ts";
import type { Store } from "../store.ts";
import { SqliteAccountStore } from "./accounts.ts";
import { SqliteAssetStore } from "./assets.ts";
import { SqliteAuditStore } from "./audit.ts";
import { CommitQueue } from "./commit-queue.ts";
import { SqliteDeploymentStore } from "./deployments.ts";
import { SqliteDeviceStore } from "./devices.ts";
import { SqliteEnrolmentStore } from "./enrolments.ts";
import { SqliteKeyStore } from "./keys.ts";
import { MIGRATIONS } from "./migrations.ts";
import { SqliteNetworkGroupStore } from "./network-groups.ts";
import { SqliteSessionStore } from "./sessions.ts";
import { SqliteSimStore } from "./sims.ts";
import { SqliteUsageStore } from "./usage.ts";

/** Opens or creates the database file; `:memory:` for a temporary one. Throws as `openSqlite` does. */
export function openStore(path: string): Store {
  const database = openSqlite(path, { migrations: MIGRATIONS });
  const commits = new CommitQueue(database);
  const version = database.prepare("PRAGMA data_version");
  const readVersion = (): number => Number(version.get()?.["data_version"]);
  const ping = database.prepare("SELECT 1 FROM accounts LIMIT 1");
  return {
    accounts: new SqliteAccountStore(database),
    keys: new CachedKeyStore(new SqliteKeyStore(database), readVersion),
    assets: new SqliteAssetStore(database),
    sims: new SqliteSimStore(database),
    networkGroups: new SqliteNetworkGroupStore(database),
    usage: new SqliteUsageStore(database),
    deployments: new SqliteDeploymentStore(database, commits),
    enrolments: new SqliteEnrolmentStore(database),
    devices: new SqliteDeviceStore(database, commits),
    sessions: new SqliteSessionStore(database, commits),
    audit: new SqliteAuditStore(database),
    async check() {
      ping.get();
    },
    async truncateWal() {
      return isEmpty(`${path}-wal`) || truncateWal(database);
    },
    async dataVersion() {
      return readVersion();
    },
    async [Symbol.asyncDispose]() {
      commits[Symbol.dispose]();
      close(database);
    },
  };
}

function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

function close(database: DatabaseSync): void {
  if (database.isOpen) database.close();
}
