import type { Logger } from "../lib/logger.ts";
import { AlertWatcher } from "./alerts/alert-watcher.ts";
import type { Channels } from "./alerts/channels/channels.ts";
import { Messenger } from "./alerts/messenger.ts";
import { ServiceWatch } from "./alerts/service-watch.ts";
import type { Bus } from "./bus/bus.ts";
import type { Config } from "./config/config.ts";
import type { Deployments } from "./deployments/deployments.ts";
import { Retention } from "./deployments/retention.ts";
import { EventRetention } from "./events/event-retention.ts";
import { AppOutput } from "./fleets/app-output.ts";
import { Attempts } from "./fleets/attempts.ts";
import { FleetCoordinator } from "./fleets/coordinator.ts";
import type { LeaseLock } from "./instances/lease-lock.ts";
import type { DeviceQueries } from "./devices/queries/device-queries.ts";
import type { ServiceClock } from "./instances/service-clock.ts";
import { SharedRole } from "./instances/shared-role.ts";
import { OtlpExporter } from "./otlp/otlp-exporter.ts";
import type { Sealer } from "./sealing/sealer.ts";
import type { SimOperators } from "./sim-operator/sim-operators.ts";
import type { DataPlans } from "./sims/data-plans.ts";
import { DataPlanWatcher } from "./sims/plan-watcher.ts";
import { SimWatcher } from "./sims/sim-watcher.ts";
import type { Store } from "./store/store.ts";
import { WalTruncator } from "./data/wal-truncator.ts";

/** Longer than the pause between two rounds of retention, so that one instance does them all. */
const RETENTION_LEASE_MS = 2 * 3_600_000;
const EVENT_LEASE_MS = 5 * 60_000;
const DAY_MS = 24 * 3_600_000;

/** What most parts of a server work with. */
export interface ServerBase {
  readonly config: Config;
  readonly store: Store;
  readonly bus: Bus;
  readonly simOperators: SimOperators;
  readonly sealer: Sealer;
  readonly instanceId: string;
  readonly clock: ServiceClock;
  readonly logger: Logger;
}

/** The services that work is done for in the background. */
export interface BackgroundServices {
  readonly deployments: Deployments;
  readonly queries: DeviceQueries;
  readonly sims: { readonly plans: DataPlans };
  readonly alerts: { readonly channels: Channels };
  readonly assets: { readonly locks: LeaseLock };
}

/** Starts what the service does without a request. Disposing of it ends it, the last first. */
export function startBackground(base: ServerBase, services: BackgroundServices): AsyncDisposable {
  const { config, store, bus, simOperators, sealer, instanceId, clock, logger } = base;
  const { deployments, queries, sims } = services;
  const { channels } = services.alerts;
  const { locks } = services.assets;
  const shared = { store, clock, logger, instanceId };
  const leased = (lease: string, leaseMs: number) => {
    const role = new SharedRole({ ...shared, lease, leaseMs });
    return (): Promise<boolean> => role.acquire();
  };
  const retentionMs = config.deployment_retention_days * DAY_MS;
  const jobs = new AsyncDisposableStack();
  jobs.use(
    new EventRetention({
      store: store.accountEvents,
      clock,
      logger,
      acquire: leased("account-events", EVENT_LEASE_MS),
    }),
  );
  jobs.use(new Retention({ store, clock, logger, acquire: leased("retention", RETENTION_LEASE_MS), retentionMs }));
  if (!store.isShared) jobs.use(new WalTruncator({ store, clock, logger }));
  jobs.use(new DataPlanWatcher({ ...shared, plans: sims.plans }));
  jobs.use(new SimWatcher({ ...shared, simOperators, locks, intervalMs: config.sim_sync_interval_s * 1000 }));
  const messenger = jobs.use(new Messenger({ store, channels, clock, logger, instanceId }));
  jobs.use(new AlertWatcher({ ...shared, publicUrl: config.public_url, onMessage: () => messenger.wake() }));
  if (config.operator_account !== undefined) {
    const dataDir = store.isShared ? undefined : config.data_dir;
    jobs.use(
      new ServiceWatch({ ...shared, accountId: config.operator_account, publicUrl: config.public_url, dataDir }),
    );
  }
  for (const [accountId, settings] of Object.entries(config.otlp_exports))
    jobs.use(new OtlpExporter({ ...shared, accountId, settings }));
  const attempts = new Attempts({ store, deployments, sealer });
  jobs.use(new FleetCoordinator({ ...shared, bus, sealer, attempts, output: new AppOutput(queries, clock) }));
  return jobs;
}
