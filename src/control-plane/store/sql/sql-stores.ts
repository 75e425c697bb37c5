import type { Store } from "../store.ts";
import { SqlAccountStore } from "./accounts.ts";
import { SqlAgentReleaseStore } from "./agent-releases.ts";
import { SqlAlertOutboxStore } from "./alert-outbox.ts";
import { SqlAlertSettingsStore } from "./alert-settings.ts";
import { SqlAlertStore } from "./alerts.ts";
import { SqlAssetSettingsStore } from "./asset-settings.ts";
import { SqlAssetStore } from "./assets.ts";
import { SqlAuditStore } from "./audit.ts";
import { SqlBrowserStore } from "./browsers.ts";
import { SqlBusKeyStore } from "./bus-keys.ts";
import { SqlConnectivityStore } from "./connectivity.ts";
import { SqlDataPlanStore } from "./data-plans.ts";
import { SqlDeploymentListStore } from "./deployment-list.ts";
import { SqlEnrolmentStore } from "./enrolments.ts";
import { SqlFleetStore } from "./fleets.ts";
import { SqlHealthStore } from "./health.ts";
import { SqlIdempotencyStore } from "./idempotency.ts";
import { SqlLoginRequestStore } from "./login-requests.ts";
import { SqlMemberStore } from "./members.ts";
import { SqlOperatorUsageStore } from "./operator-usage.ts";
import { SqlRolloutStore } from "./rollouts.ts";
import { SqlSealingKeyStore } from "./sealing-keys.ts";
import { SqlSimCredentialStore } from "./sim-credentials.ts";
import { SqlNetworkGroupStore, SqlSimStore } from "./sims.ts";
import { SqlTimeStore } from "./times.ts";
import { SqlUploadStore } from "./uploads.ts";
import { SqlUsageStore } from "./usage.ts";
import { SqlUserSessionStore } from "./user-sessions.ts";
import { SqlUserStore } from "./users.ts";
import type { Executor } from "./executor.ts";

/**
 * The stores whose statements are written once for both databases.
 *
 * @param onKeysRevoked called when keys were revoked with a person or a log-in
 */
export function sqlStores(executor: Executor, onKeysRevoked?: () => void) {
  return {
    accounts: new SqlAccountStore(executor),
    assets: new SqlAssetStore(executor),
    sims: new SqlSimStore(executor),
    networkGroups: new SqlNetworkGroupStore(executor),
    usage: new SqlUsageStore(executor),
    operatorUsage: new SqlOperatorUsageStore(executor),
    simCredentials: new SqlSimCredentialStore(executor),
    dataPlans: new SqlDataPlanStore(executor),
    deploymentLists: new SqlDeploymentListStore(executor),
    enrolments: new SqlEnrolmentStore(executor),
    connectivity: new SqlConnectivityStore(executor),
    health: new SqlHealthStore(executor),
    audit: new SqlAuditStore(executor),
    users: new SqlUserStore(executor, onKeysRevoked),
    loginRequests: new SqlLoginRequestStore(executor, onKeysRevoked),
    userSessions: new SqlUserSessionStore(executor),
    browsers: new SqlBrowserStore(executor),
    times: new SqlTimeStore(executor),
    assetSettings: new SqlAssetSettingsStore(executor),
    fleets: new SqlFleetStore(executor),
    members: new SqlMemberStore(executor),
    rollouts: new SqlRolloutStore(executor),
    agentReleases: new SqlAgentReleaseStore(executor),
    uploads: new SqlUploadStore(executor),
    busKeys: new SqlBusKeyStore(executor),
    idempotency: new SqlIdempotencyStore(executor),
    sealingKeys: new SqlSealingKeyStore(executor),
    alerts: new SqlAlertStore(executor),
    alertSettings: new SqlAlertSettingsStore(executor),
    alertOutbox: new SqlAlertOutboxStore(executor),
  } satisfies Partial<Store>;
}
