import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { openSqlite, truncateWal } from "../../../lib/sqlite.ts";
import { CachedKeyStore } from "../cached-keys.ts";
import { SqlBusKeyStore } from "../sql/bus-keys.ts";
import { SqlAlertOutboxStore } from "../sql/alert-outbox.ts";
import { SqlAlertSettingsStore } from "../sql/alert-settings.ts";
import { SqlAlertStore } from "../sql/alerts.ts";
import { SqlAccountStore } from "../sql/accounts.ts";
import { SqlAgentReleaseStore } from "../sql/agent-releases.ts";
import { SqlAssetSettingsStore } from "../sql/asset-settings.ts";
import { SqlAssetStore } from "../sql/assets.ts";
import { SqlBrowserStore } from "../sql/browsers.ts";
import { SqlConnectivityStore } from "../sql/connectivity.ts";
import { SqlHealthStore } from "../sql/health.ts";
import { SqlDataPlanStore } from "../sql/data-plans.ts";
import { SqlDeploymentListStore } from "../sql/deployment-list.ts";
import { SqlAuditStore } from "../sql/audit.ts";
import { SqlEnrolmentStore } from "../sql/enrolments.ts";
import { SqlFleetStore } from "../sql/fleets.ts";
import { SqlKeyStore } from "../sql/keys.ts";
import { SqlLoginRequestStore } from "../sql/login-requests.ts";
import { SqlMemberStore } from "../sql/members.ts";
import { SqlNetworkGroupStore } from "../sql/network-groups.ts";
import { SqlRolloutStore } from "../sql/rollouts.ts";
import { SqlIdempotencyStore } from "../sql/idempotency.ts";
import { SqlSealingKeyStore } from "../sql/sealing-keys.ts";
import { SqlSimCredentialStore } from "../sql/sim-credentials.ts";
import { SqlSimStore } from "../sql/sims.ts";
import { SqliteExecutor } from "../sql/sqlite-executor.ts";
import { SqlOperatorUsageStore } from "../sql/operator-usage.ts";
import { SqlTimeStore } from "../sql/times.ts";
import { SqlUsageStore } from "../sql/usage.ts";
import { SqlUserSessionStore } from "../sql/user-sessions.ts";
import { SqlUserStore } from "../sql/users.ts";
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
    isShared: false,
    accounts: new SqlAccountStore(executor),
    keys,
    assets: new SqlAssetStore(executor),
    sims: new SqlSimStore(executor),
    networkGroups: new SqlNetworkGroupStore(executor),
    usage: new SqlUsageStore(executor),
    operatorUsage: new SqlOperatorUsageStore(executor),
    simCredentials: new SqlSimCredentialStore(executor),
    dataPlans: new SqlDataPlanStore(executor),
    deployments: new SqliteDeploymentStore(database, commits, states),
    deploymentLists: new SqlDeploymentListStore(executor),
    enrolments: new SqlEnrolmentStore(executor),
    devices: new SqliteDeviceStore(database, commits, states),
    sessions: new SqliteSessionStore(database, commits, states),
    connectivity: new SqlConnectivityStore(executor),
    health: new SqlHealthStore(executor),
    instances: new SqliteInstanceStore(database),
    leases: new SqliteLeaseStore(database),
    audit: new SqlAuditStore(executor),
    users: new SqlUserStore(executor, onKeysRevoked),
    loginRequests: new SqlLoginRequestStore(executor, onKeysRevoked),
    userSessions: new SqlUserSessionStore(executor),
    accountEvents,
    onAccountEvents: (listener) => appended.add(listener),
    browsers: new SqlBrowserStore(executor),
    times: new SqlTimeStore(executor),
    assetSettings: new SqlAssetSettingsStore(executor),
    fleets: new SqlFleetStore(executor),
    members: new SqlMemberStore(executor),
    rollouts: new SqlRolloutStore(executor),
    agentReleases: new SqlAgentReleaseStore(executor),
    busKeys: new SqlBusKeyStore(executor),
    idempotency: new SqlIdempotencyStore(executor),
    sealingKeys: new SqlSealingKeyStore(executor),
    alerts: new SqlAlertStore(executor),
    alertSettings: new SqlAlertSettingsStore(executor),
    alertOutbox: new SqlAlertOutboxStore(executor),
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
