import type { AccountEventStore } from "./account-events.ts";
import type { AccountStore, KeyStore } from "./accounts.ts";
import type { AgentReleaseStore } from "./agent-releases.ts";
import type { AlertOutboxStore, AlertSettingsStore, AlertStore } from "./alerts.ts";
import type { AssetSettingsStore } from "./asset-settings.ts";
import type { AuditStore } from "./audit.ts";
import type { AssetStore } from "./assets.ts";
import type { BrowserStore, UserSessionStore } from "./user-sessions.ts";
import type { BusKeyStore } from "./bus-keys.ts";
import type { ConnectivityStore } from "./connectivity.ts";
import type { DataPlanStore } from "./data-plans.ts";
import type { DeploymentListStore } from "./deployment-lists.ts";
import type { DeploymentStore } from "./deployments.ts";
import type { DeviceStore } from "./devices.ts";
import type { EnrolmentStore } from "./enrolments.ts";
import type { FleetStore } from "./fleets.ts";
import type { HealthStore } from "./health.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { InstanceStore, LeaseStore, TimeStore } from "./instances.ts";
import type { LoginRequestStore } from "./login-requests.ts";
import type { MemberStore } from "./members.ts";
import type { NetworkGroupStore, SimStore } from "./sims.ts";
import type { OperatorUsageStore } from "./operator-usage.ts";
import type { RolloutStore } from "./rollouts.ts";
import type { SealingKeyStore } from "./sealing-keys.ts";
import type { SessionStore } from "./sessions.ts";
import type { SimCredentialStore } from "./sim-credentials.ts";
import type { StoreStatistics } from "./statistics.ts";
import type { UploadStore } from "./uploads.ts";
import type { UsageStore } from "./usage.ts";
import type { UserStore } from "./users.ts";

/** Everything edge-control stores. When a method resolves, its change is on disk. */
export interface Store extends AsyncDisposable {
  /** Whether several instances may serve this store at a time. */
  readonly isShared: boolean;
  readonly accounts: AccountStore;
  readonly keys: KeyStore;
  readonly assets: AssetStore;
  readonly sims: SimStore;
  readonly networkGroups: NetworkGroupStore;
  readonly usage: UsageStore;
  readonly operatorUsage: OperatorUsageStore;
  readonly simCredentials: SimCredentialStore;
  readonly dataPlans: DataPlanStore;
  readonly deployments: DeploymentStore;
  readonly deploymentLists: DeploymentListStore;
  readonly devices: DeviceStore;
  readonly sessions: SessionStore;
  readonly connectivity: ConnectivityStore;
  readonly health: HealthStore;
  readonly instances: InstanceStore;
  readonly leases: LeaseStore;
  readonly times: TimeStore;
  readonly enrolments: EnrolmentStore;
  readonly audit: AuditStore;
  readonly users: UserStore;
  readonly userSessions: UserSessionStore;
  readonly accountEvents: AccountEventStore;
  readonly loginRequests: LoginRequestStore;
  readonly browsers: BrowserStore;
  readonly assetSettings: AssetSettingsStore;
  readonly fleets: FleetStore;
  readonly members: MemberStore;
  readonly rollouts: RolloutStore;
  readonly idempotency: IdempotencyStore;
  readonly agentReleases: AgentReleaseStore;
  readonly uploads: UploadStore;
  readonly busKeys: BusKeyStore;
  readonly sealingKeys: SealingKeyStore;
  readonly alerts: AlertStore;
  readonly alertSettings: AlertSettingsStore;
  readonly alertOutbox: AlertOutboxStore;
  readonly statistics: StoreStatistics;
  /** Calls the listener with each account that has new events, once this process has committed them, until disposed. */
  onAccountEvents(listener: (accountId: string) => void): Disposable;
  /** Throws when the store is not usable. */
  check(): Promise<void>;
  /** Truncates the write-ahead log without waiting for other users. Returns whether that was possible. */
  truncateWal(): Promise<boolean>;
  /** Returns numbers that change when another process may have taken access away: from devices and keys, or from people. */
  accessVersions(): Promise<AccessVersions>;
}

/** What each number of `AccessVersions` is about. */
export const ACCESS_KINDS = ["machines", "people"] as const;
export type AccessKind = (typeof ACCESS_KINDS)[number];
export type AccessVersions = Readonly<Record<AccessKind, number>>;

/** The parts of a store whose methods read and write records. They all return promises. */
export const RECORD_STORES = [
  "accounts",
  "keys",
  "assets",
  "sims",
  "networkGroups",
  "usage",
  "operatorUsage",
  "simCredentials",
  "dataPlans",
  "deployments",
  "deploymentLists",
  "devices",
  "sessions",
  "connectivity",
  "health",
  "instances",
  "leases",
  "times",
  "enrolments",
  "audit",
  "users",
  "userSessions",
  "accountEvents",
  "loginRequests",
  "browsers",
  "assetSettings",
  "fleets",
  "members",
  "rollouts",
  "idempotency",
  "agentReleases",
  "uploads",
  "busKeys",
  "sealingKeys",
  "alerts",
  "alertSettings",
  "alertOutbox",
] as const satisfies readonly (keyof Store)[];
