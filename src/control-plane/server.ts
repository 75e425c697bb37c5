import type { AddressInfo } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { AccessWatcher } from "./access-watcher.ts";
import { buildServer, type RequestTimes } from "./api/build-server.ts";
import { StreamLimiter } from "./api/stream-limiter.ts";
import type { Api } from "./api/context.ts";
import { ConflictRateLimiter } from "./assets/conflict-rate-limiter.ts";
import { AssetUpdater } from "./assets/update-asset.ts";
import { RefusalLog } from "./audit/refusal-log.ts";
import type { Bus } from "./bus/bus.ts";
import type { PasswordAlgorithm } from "./core/people/password-hash.ts";
import type { MessageLink } from "./bus/message-link.ts";
import { NO_LINK } from "./bus/no-link.ts";
import type { Config } from "./config.ts";
import { accountTopic, AccountFeeds } from "./events/account-feeds.ts";
import { EventRetention } from "./events/event-retention.ts";
import { Deployments } from "./deployments/deployments.ts";
import { obstacleFinder } from "./deployments/plan-obstacle.ts";
import { Retention } from "./deployments/retention.ts";
import { DeviceQueries } from "./queries/device-queries.ts";
import { DeviceReports } from "./reports/device-reports.ts";
import { DeviceHub } from "./hub/hub.ts";
import { LeaseLock } from "./instances/lease-lock.ts";
import { openClocks } from "./instances/open-clocks.ts";
import { Membership } from "./instances/membership.ts";
import { DeadInstanceSweeper } from "./instances/dead-instance-sweeper.ts";
import { SharedCounts } from "./instances/shared-counts.ts";
import { WalTruncator } from "./wal-truncator.ts";
import { LinkedGateway, type LinkedGatewayOptions } from "./gateway/linked-gateway.ts";
import { LocalGateway } from "./gateway/local-gateway.ts";
import { Site } from "./api/site.ts";
import { openOidc } from "./people/oidc/open-oidc.ts";
import { PasswordHasher } from "./people/password-hasher.ts";
import { SignInGate } from "./people/sign-in-gate.ts";
import { PrincipalReader } from "./people/principal-reader.ts";
import { createId } from "./secrets.ts";
import { parseTrustedProxies } from "./trusted-proxies.ts";
import { Attempts } from "./fleets/attempts.ts";
import { FleetCoordinator } from "./fleets/coordinator.ts";
import { Fleets } from "./fleets/fleets.ts";
import type { ImageResolver } from "./images/image-resolver.ts";
import type { Sealer } from "./sealing/sealer.ts";
import type { Observer } from "./metrics/observer.ts";
import { ShownDailyUsage } from "./sims/daily-usage.ts";
import { DataPlans } from "./sims/data-plans.ts";
import { OperatorUsageReader } from "./sims/operator-usage.ts";
import { SimRefresher } from "./sims/sim-refresher.ts";
import { PlanWatcher } from "./sims/plan-watcher.ts";
import { SimWatcher } from "./sims/sim-watcher.ts";
import type { SimOperators } from "./sim-operator/sim-operators.ts";
import type { Store } from "./store/store.ts";
import { isStreamRequest, StreamServer } from "./streams/stream-server.ts";

/** How long open requests may take to end when the server stops. */
const DRAIN_GRACE_MS = 3_000;
/** How often a store that other instances use is read for what a lost message has not told. */
const POLL_MS = 1_000;
/** Longer than the pause between two rounds of retention, so that one instance does them all. */
const RETENTION_LEASE_MS = 2 * 3_600_000;
const EVENT_LEASE_MS = 5 * 60_000;
const DAY_MS = 24 * 3600 * 1000;
const MIB = 1024 * 1024;

/** The parts of a server. The caller owns the store and closes it after the server has stopped. */
export interface ServerOptions {
  readonly config: Config;
  readonly store: Store;
  readonly bus: Bus;
  /** Reaches other instances; absent if there can be none. */
  readonly link?: MessageLink | undefined;
  readonly simOperators: SimOperators;
  readonly sealer: Sealer;
  readonly images: ImageResolver;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: the strongest one that this Node.js has. */
  readonly passwordAlgorithm?: PasswordAlgorithm;
  /** Default: those of `buildServer`. */
  readonly requestTimes?: RequestTimes | undefined;
  /** Absent: nothing is measured. */
  readonly metrics?: { readonly observer: Observer; countDevices: () => number; now: () => number };
}

export interface RunningServer {
  /** The address it listens on. */
  readonly address: string;
  /** The actual port, also when the configured port is 0. */
  readonly port: number;
  /** Stops gracefully: ends streams and device sessions in order. Resolves within seconds. Idempotent. */
  stop(): Promise<void>;
}

/** Starts edge-control and resolves when it listens. Throws when it cannot listen on the address. */
export async function startServer({
  config,
  store,
  bus,
  link,
  simOperators,
  sealer,
  images,
  clock: ownClock,
  logger,
  passwordAlgorithm,
  requestTimes,
  metrics,
}: ServerOptions): Promise<RunningServer> {
  const leaving = new AbortController();
  const stopping = new AbortController();
  const observer = metrics?.observer;
  const instanceId = createId("ins_");
  const { assets, sessions, isShared } = store;
  const clocks = await openClocks({ store, instanceId, clock: ownClock, logger });
  const { clock, serviceClock } = clocks;
  const access = new AccessWatcher(store, clock, logger);
  const principals = new PrincipalReader(store, clock);
  const refusals = new RefusalLog({ audit: store.audit, clock, logger });
  const listBusyAssets = (): Promise<ReadonlySet<string>> => deployments.listBusyAssets();
  const isTrustedProxy = parseTrustedProxies(config.trusted_proxies);
  const hub = new DeviceHub({
    assets,
    sessions,
    bus,
    instanceId,
    isShared,
    listBusyAssets,
    access,
    isTrustedProxy,
    clock,
    logger,
    observer,
  });
  if (metrics) Object.assign(metrics, { countDevices: () => hub.deviceCount, now: () => clock.now() });
  const isUnresponsive = (id: string): boolean => sweeper.isUnresponsive(id);
  const keepMs = config.deployment_retention_days * DAY_MS;
  const deployments = new Deployments({
    store: store.deployments,
    bus,
    clock,
    serviceClock,
    logger,
    instanceId,
    isUnresponsive,
    gateway: { credentials: (id) => gateway.credentials(id) },
    findObstacle: obstacleFinder(store.dataPlans, clock),
    ...(isShared && { pollMs: POLL_MS }),
    ackTimeoutMs: config.ack_timeout_s * 1000,
    deploymentTimeoutMs: config.deployment_timeout_s * 1000,
    maxAccountBytes: config.storage_mib_per_account * MIB,
    retentionMs: keepMs,
  });
  const gateway = openGateway({
    local: new LocalGateway(
      (assetUuid) => hub.find(assetUuid),
      (id) => deployments.findCredentials(id),
      () => observer?.bounded("queries_per_device"),
    ),
    // Devices of other instances cannot be asked then, and the client is told so.
    link: link ?? (isShared ? NO_LINK : undefined),
    instanceId,
    clock,
    logger,
    locate: async (assetUuid) => (await sessions.find(assetUuid))?.instanceId,
    isUnresponsive,
  });
  const reports = new DeviceReports({ store: store.devices, clock, logger });
  // Without a link each instance counts alone.
  const counts = isShared && link ? new SharedCounts({ link, instanceId, clock }) : undefined;
  const queries = new DeviceQueries(gateway, clock, counts?.of("queries"), observer);
  const locks = new LeaseLock({
    leases: isShared ? store.leases : undefined,
    instanceId,
    clock,
    serviceClock,
    logger,
  });
  const assetUpdater = new AssetUpdater({ store, simOperators, locks, clock, logger, stopping: stopping.signal });
  const maxPerAccount = config.max_streams_per_account;
  const streamLimiter = new StreamLimiter({ clock, logger, counts, maxPerAccount, observer });
  const accountFeeds = new AccountFeeds({
    store: store.accountEvents,
    bus,
    clock,
    logger,
    ...(isShared && { pollMs: POLL_MS }),
  });
  const telling = store.onAccountEvents((accountId) => bus.publish(accountTopic(accountId)));
  const hasher = new PasswordHasher({
    ...(passwordAlgorithm && { algorithm: passwordAlgorithm }),
    onRefused: () => observer?.bounded("sign_ins_waiting"),
  });
  const fleets = new Fleets({ store, sealer, images, deployments, bus, clock, serviceClock });
  const operatorUsage = new OperatorUsageReader({
    store: store.operatorUsage,
    clock,
    logger,
    stopping: stopping.signal,
    refreshMs: config.sim_usage_refresh_s * 1000,
  });
  const usageSource = { config, simOperators, operatorUsage, clock, logger, stopping: stopping.signal };
  const dataPlans = new DataPlans({
    store: store.dataPlans,
    usage: new ShownDailyUsage(usageSource),
    clock,
    onRestored: () => deployments.deliverHeld(),
  });
  const context = {
    config,
    store,
    sealer,
    fleets,
    bus,
    simOperators,
    locks,
    simRefresher: new SimRefresher({
      store,
      simOperators,
      locks,
      clock,
      logger,
      stopping: stopping.signal,
      intervalMs: config.sim_sync_interval_s * 1000,
    }),
    operatorUsage,
    dataPlans,
    assetUpdater,
    deployments,
    accountFeeds,
    queries,
    conflictRateLimiter: new ConflictRateLimiter(clock, counts?.of("conflicts"), observer),
    streamLimiter,
    access,
    principals,
    hasher,
    signInGate: new SignInGate({ store, hasher, clock, shared: counts?.of("sign-ins"), observer }),
    oidc: await openOidc(config, { store, refusals, clock, logger }),
    site: new Site(config.public_url),
    refusals,
    counts,
    clock,
    serviceClock,
    logger,
    observer,
  };
  const api = await buildServer({ ...context, leaving: leaving.signal, stopping: stopping.signal }, requestTimes);
  const ratePerMinute = config.rate_limit_per_minute;
  const streams = new StreamServer({
    store,
    gateway,
    access,
    principals,
    isTrustedProxy,
    ratePerMinute,
    counts,
    clock,
    logger,
    observer,
  });
  api.server.on("upgrade", (request, socket, head) => {
    (isStreamRequest(request) ? streams : hub).upgrade(request, socket, head);
  });
  const sweeper = new DeadInstanceSweeper({
    store,
    instanceId,
    clock,
    serviceClock,
    logger,
    listBusyAssets,
    noteLost: (lost) => deployments.noteLost(lost),
  });
  const membership = new Membership({
    store,
    instanceId,
    clock,
    serviceClock,
    logger,
    recover: async (isOtherDatabase, onProgress) => {
      if (isOtherDatabase) await store.accountEvents.startAnew();
      await deployments.recover(isOtherDatabase, onProgress);
    },
    onRejoined: () => hub.reopenSessions(),
    onAbandoned: () => hub.abandon(),
    onRenewed: () => void sweeper.run(),
  });
  await store.accountEvents.prepare();
  await membership.join();
  deployments.start();
  hub.setHandlers({ deploymentHandler: deployments.frames, delivery: deployments.delivery, reportHandler: reports });
  await api.listen(config.listen);
  const { address, port } = api.server.address() as AddressInfo;
  logger.info({ address, port }, "listening");
  const acquireRetention = async (): Promise<boolean> => {
    const nowMs = Math.floor(serviceClock.serviceNow());
    return (await store.leases.acquire("retention", instanceId, nowMs, nowMs + RETENTION_LEASE_MS)) !== undefined;
  };
  const coordinator = new FleetCoordinator({
    store,
    bus,
    attempts: new Attempts({ store, deployments, sealer }),
    sealer,
    clock,
    serviceClock,
    logger,
    instanceId,
  });
  const simWatcher = new SimWatcher({
    store,
    simOperators,
    locks,
    clock,
    serviceClock,
    logger,
    instanceId,
    intervalMs: config.sim_sync_interval_s * 1000,
  });
  const planWatcher = new PlanWatcher({ store, plans: dataPlans, clock, serviceClock, logger, instanceId });
  const retention = new Retention({
    store,
    clock,
    logger,
    acquire: isShared ? acquireRetention : () => Promise.resolve(true),
    retentionMs: keepMs,
  });
  const acquireEvents = async (): Promise<boolean> => {
    const nowMs = Math.floor(serviceClock.serviceNow());
    return (await store.leases.acquire("account-events", instanceId, nowMs, nowMs + EVENT_LEASE_MS)) !== undefined;
  };
  const eventRetention = new EventRetention({
    store: store.accountEvents,
    clock,
    logger,
    acquire: isShared ? acquireEvents : () => Promise.resolve(true),
  });
  const walTruncator = isShared ? undefined : new WalTruncator({ store, clock, logger });
  const sendDevicesAway = async (): Promise<void> => {
    await membership.markStopping();
    await hub.sendAway();
  };
  const stop = async (): Promise<void> => {
    logger.info("stopping");
    leaving.abort();
    const warn = (error: unknown): void => logger.warn({ err: error }, "the store cannot be reached while stopping");
    if (config.stop_delay_s > 0) await ownClock.sleep(config.stop_delay_s * 1000);
    if (isShared) await sendDevicesAway().catch(warn);
    stopping.abort();
    await coordinator[Symbol.asyncDispose]();
    await simWatcher[Symbol.asyncDispose]();
    await planWatcher[Symbol.asyncDispose]();
    walTruncator?.[Symbol.dispose]();
    retention[Symbol.dispose]();
    eventRetention[Symbol.dispose]();
    streams.stop();
    const closed = closeApi(api, clock);
    await Promise.all([deployments.stop().catch(warn), hub.stop(), closed]);
    await refusals[Symbol.asyncDispose]();
    await membership.leave().catch(warn);
    counts?.[Symbol.dispose]();
    clocks[Symbol.dispose]();
    if (gateway instanceof LinkedGateway) gateway[Symbol.dispose]();
    access[Symbol.dispose]();
    accountFeeds[Symbol.dispose]();
    telling[Symbol.dispose]();
    logger.info("stopped");
  };
  let stopped: Promise<void> | undefined;
  return {
    address,
    port,
    stop: () => (stopped ??= stop()),
  };
}

function openGateway({
  link,
  ...options
}: Omit<LinkedGatewayOptions, "link"> & { readonly link: MessageLink | undefined }): LocalGateway | LinkedGateway {
  return link ? new LinkedGateway({ ...options, link }) : options.local;
}

/** Stops listening at once, and closes the remaining connections after `DRAIN_GRACE_MS`. */
async function closeApi(api: Api, clock: Clock): Promise<void> {
  using _grace = clock.timer(DRAIN_GRACE_MS, () => api.server.closeAllConnections());
  await api.close();
}
