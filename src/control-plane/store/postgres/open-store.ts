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
import { PostgresExecutor } from "../sql/postgres-executor.ts";
import { SqlRolloutStore } from "../sql/rollouts.ts";
import { SqlIdempotencyStore } from "../sql/idempotency.ts";
import { SqlSealingKeyStore } from "../sql/sealing-keys.ts";
import { SqlSimCredentialStore } from "../sql/sim-credentials.ts";
import { SqlSimStore } from "../sql/sims.ts";
import { SqlOperatorUsageStore } from "../sql/operator-usage.ts";
import { SqlTimeStore } from "../sql/times.ts";
import { SqlUsageStore } from "../sql/usage.ts";
import { SqlUserSessionStore } from "../sql/user-sessions.ts";
import { SqlUserStore } from "../sql/users.ts";
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
    isShared: true,
    accounts: new SqlAccountStore(executor),
    keys: new SqlKeyStore(executor),
    assets: new SqlAssetStore(executor),
    sims: new SqlSimStore(executor),
    networkGroups: new SqlNetworkGroupStore(executor),
    usage: new SqlUsageStore(executor),
    operatorUsage: new SqlOperatorUsageStore(executor),
    simCredentials: new SqlSimCredentialStore(executor),
    dataPlans: new SqlDataPlanStore(executor),
    deployments: new PostgresDeploymentStore(pool, appended),
    deploymentLists: new SqlDeploymentListStore(executor),
    enrolments: new SqlEnrolmentStore(executor),
    devices: new PostgresDeviceStore(pool, appended),
    sessions: new PostgresSessionStore(pool, appended),
    connectivity: new SqlConnectivityStore(executor),
    health: new SqlHealthStore(executor),
    instances: new PostgresInstanceStore(pool),
    leases: new PostgresLeaseStore(pool),
    audit: new SqlAuditStore(executor),
    users: new SqlUserStore(executor),
    loginRequests: new SqlLoginRequestStore(executor),
    userSessions: new SqlUserSessionStore(executor),
    accountEvents: new PostgresAccountEventStore(pool),
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
