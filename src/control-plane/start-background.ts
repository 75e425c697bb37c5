import type { Logger } from "../lib/logger.ts";
import { AlertWatcher } from "./alerts/alert-watcher.ts";
import type { Channels } from "./alerts/channels/channels.ts";
import { Messenger } from "./alerts/messenger.ts";
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
import type { Sealer } from "./sealing/sealer.ts";
import type { SimOperators } from "./sim-operator/sim-operators.ts";
import type { DataPlans } from "./sims/data-plans.ts";
import { PlanWatcher } from "./sims/plan-watcher.ts";
import { SimWatcher } from "./sims/sim-watcher.ts";
import type { Store } from "./store/store.ts";
import { WalTruncator } from "./data/wal-truncator.ts";

/** Longer than the pause between two rounds of retention, so that one instance does them all. */
const RETENTION_LEASE_MS = 2 * 3_600_000;
const EVENT_LEASE_MS = 5 * 60_000;

export interface BackgroundParts {
  readonly config: Config;
  readonly store: Store;
  readonly bus: Bus;
  readonly deployments: Deployments;
  readonly queries: DeviceQueries;
  readonly simOperators: SimOperators;
  readonly sims: { readonly plans: DataPlans };
  readonly channels: Channels;
  readonly sealer: Sealer;
  readonly locks: LeaseLock;
  readonly instanceId: string;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  /** How long a deployment is kept after its end, in milliseconds. */
  readonly retentionMs: number;
}

/** Starts what the service does without a request. Disposing of it ends it, the last first. */
export function startBackground(parts: BackgroundParts): AsyncDisposable {
  const { config, store, bus, deployments, queries, simOperators, sims, sealer, channels, locks, retentionMs } = parts;
  const { instanceId, clock, logger } = parts;
  const shared = { store, clock, logger, instanceId };
  // Alone, an instance needs no lease.
  const leased = (name: string, leaseMs: number) => async (): Promise<boolean> => {
    if (!store.isShared) return true;
    const nowMs = Math.floor(clock.serviceNow());
    return (await store.leases.acquire(name, instanceId, nowMs, nowMs + leaseMs)) !== undefined;
  };
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
  jobs.use(new PlanWatcher({ ...shared, plans: sims.plans }));
  jobs.use(new SimWatcher({ ...shared, simOperators, locks, intervalMs: config.sim_sync_interval_s * 1000 }));
  const messenger = jobs.use(new Messenger({ store, channels, clock, logger, instanceId }));
  jobs.use(new AlertWatcher({ ...shared, publicUrl: config.public_url, onMessage: () => messenger.wake() }));
  const attempts = new Attempts({ store, deployments, sealer });
  jobs.use(new FleetCoordinator({ ...shared, bus, sealer, attempts, output: new AppOutput(queries, clock) }));
  return jobs;
}
