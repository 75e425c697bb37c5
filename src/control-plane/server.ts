import type { AddressInfo } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { MAX_CHANNEL_TESTS_PER_HOUR } from "./alerts/channel-test.ts";
import { Channels } from "./alerts/channels/channels.ts";
import { Mailer } from "./alerts/channels/mail.ts";
import { Poster } from "./alerts/channels/post.ts";
import { AccessWatcher } from "./accounts/access-watcher.ts";
import type { ProtocolVersions } from "../protocol/version.ts";
import { buildServer, type RequestTimes } from "./api/build-server.ts";
import { RELEASE_REQUESTS } from "./api/releases/serve-releases.ts";
import { StreamLimiter } from "./api/stream-limiter.ts";
import type { Api, ApiContext } from "./api/context.ts";
import { ConflictRateLimiter } from "./assets/conflict-rate-limiter.ts";
import { AssetUpdater } from "./assets/update-asset.ts";
import { RefusalLog } from "./accounts/refusal-log.ts";
import type { Bus } from "./bus/bus.ts";
import type { PasswordAlgorithm } from "./core/people/password-hash.ts";
import { type MessageLink, NO_LINK } from "./bus/message-link.ts";
import type { Config } from "./config/config.ts";
import { accountTopic, AccountFeeds } from "./events/account-feeds.ts";
import { CredentialCache } from "./deployments/credentials.ts";
import { Deployments, listBusyAssets } from "./deployments/deployments.ts";
import { obstacleFinder } from "./deployments/plan-obstacle.ts";
import { DeviceQueries } from "./devices/queries/device-queries.ts";
import { DeviceHealthRows, DeviceReports } from "./devices/device-reports.ts";
import { DeviceThresholds } from "./devices/device-thresholds.ts";
import { DeviceAdmission } from "./devices/hub/device-admission.ts";
import { DeviceHub } from "./devices/hub/hub.ts";
import { HourlyLimiter } from "./instances/hourly-limiter.ts";
import { LeaseLock } from "./instances/lease-lock.ts";
import { openClock } from "./instances/open-clock.ts";
import { Membership } from "./instances/membership.ts";
import { DeadInstanceSweeper, UnresponsiveInstances } from "./instances/dead-instance-sweeper.ts";
import { SharedCounts } from "./instances/shared-counts.ts";
import { LinkedGateway, type LinkedGatewayOptions } from "./devices/gateway/linked-gateway.ts";
import { LocalGateway } from "./devices/gateway/local-gateway.ts";
import { Site } from "./api/site.ts";
import { openOidc } from "./accounts/oidc/open-oidc.ts";
import { PasswordHasher } from "./accounts/password-hasher.ts";
import { SignInGate } from "./accounts/sign-in-gate.ts";
import { PrincipalReader } from "./accounts/principal-reader.ts";
import { createId } from "./accounts/secrets.ts";
import { parseTrustedProxies } from "./config/trusted-proxies.ts";
import { Fleets } from "./fleets/fleets.ts";
import type { ImageResolver } from "./images/image-resolver.ts";
import { ServedReleases } from "./releases/served-releases.ts";
import type { Sealer } from "./sealing/sealer.ts";
import type { Observer } from "./metrics/observer.ts";
import { ShownDailyUsage } from "./sims/daily-usage.ts";
import { DataPlans } from "./sims/data-plans.ts";
import { OperatorUsageReader } from "./sims/operator-usage.ts";
import { SimRefresher } from "./sims/sim-refresher.ts";
import type { SimOperators } from "./sim-operator/sim-operators.ts";
import { startBackground } from "./start-background.ts";
import type { Store } from "./store/store.ts";
import { isStreamRequest, StreamServer } from "./devices/streams/stream-server.ts";
import { Uploads } from "./uploads/uploads.ts";

/** How long open requests may take to end when the server stops. */
const DRAIN_GRACE_MS = 3_000;
/** How often a store that other instances use is read for what a lost message has not told. */
const POLL_MS = 1_000;
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
  /** Default: the versions that this program speaks with devices. */
  readonly protocols?: ProtocolVersions | undefined;
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
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, store, bus, metrics, logger } = options;
  const leaving = new AbortController();
  const stopping = new AbortController();
  const base = await openBase(options, stopping.signal);
  const { clock, isTrustedProxy, access, principals, counts } = base;
  const devices = openDevices(base);
  const { hub, gateway, deployments, membership, queries } = devices;
  if (metrics) Object.assign(metrics, { countDevices: () => hub.deviceCount, now: () => clock.now() });
  const telling = store.onAccountEvents((accountId) => bus.publish(accountTopic(accountId)));
  const context = await openContext(base, devices, leaving.signal);
  const { accounts, assets, alerts, sims, streams } = context;
  const api = await buildServer(context, options.requestTimes);
  const limits = { ratePerMinute: config.rate_limit_per_minute, counts, observer: base.observer };
  const connections = new StreamServer({ store, gateway, access, principals, isTrustedProxy, limits, clock, logger });
  api.server.on("upgrade", (request, socket, head) => {
    (isStreamRequest(request) ? connections : hub).upgrade(request, socket, head);
  });
  await store.accountEvents.prepare();
  await membership.join();
  deployments.start();
  const { frames: deploymentHandler, delivery } = deployments;
  const { reports: reportHandler, health: healthHandler, thresholds } = devices;
  hub.setHandlers({ deploymentHandler, delivery, reportHandler, healthHandler, thresholds });
  await api.listen(config.listen);
  const { address, port } = api.server.address() as AddressInfo;
  logger.info({ address, port }, "listening");
  const background = startBackground(base, { deployments, queries, sims, alerts, assets });
  const stop = async (): Promise<void> => {
    logger.info("stopping");
    leaving.abort();
    const warn = (error: unknown): void => logger.warn({ err: error }, "the store cannot be reached while stopping");
    if (config.stop_delay_s > 0) await options.clock.sleep(config.stop_delay_s * 1000);
    if (store.isShared) await sendDevicesAway(devices).catch(warn);
    stopping.abort();
    await background[Symbol.asyncDispose]();
    connections.stop();
    thresholds[Symbol.dispose]();
    const closed = closeApi(api, clock);
    await Promise.all([deployments.stop().catch(warn), hub.stop(), closed]);
    await accounts.refusals[Symbol.asyncDispose]();
    await membership.leave().catch(warn);
    counts?.[Symbol.dispose]();
    clock[Symbol.dispose]();
    if (gateway instanceof LinkedGateway) gateway[Symbol.dispose]();
    access[Symbol.dispose]();
    streams.feeds[Symbol.dispose]();
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

type Base = Awaited<ReturnType<typeof openBase>>;

/** What all groups share: the options, the clock, the identity of this instance, who has access, and counts. */
async function openBase(options: ServerOptions, stopping: AbortSignal) {
  const { config, store, link, logger, metrics } = options;
  const instanceId = createId("ins_");
  const clock = await openClock({ store, instanceId, clock: options.clock, logger });
  return {
    ...options,
    stopping,
    observer: metrics?.observer,
    instanceId,
    clock,
    isTrustedProxy: parseTrustedProxies(config.trusted_proxies),
    access: new AccessWatcher(store, clock, logger),
    principals: new PrincipalReader(store, clock),
    // Without a link each instance counts alone.
    counts: store.isShared && link ? new SharedCounts({ link, instanceId, clock }) : undefined,
  };
}

type Devices = ReturnType<typeof openDevices>;

/** The devices: their connections, deployments, reports and queries, at this instance and at others. */
function openDevices(base: Base) {
  const { config, store, link, observer } = base;
  const { sessions, isShared } = store;
  const credentials = new CredentialCache();
  const unresponsive = new UnresponsiveInstances();
  const busyAssets = (): Promise<ReadonlySet<string>> => listBusyAssets(store.deployments);
  const hub = new DeviceHub({ ...base, listBusyAssets: busyAssets });
  const gateway = openGateway({
    ...base,
    local: new LocalGateway(
      (assetUuid) => hub.find(assetUuid),
      (id) => credentials.find(id),
      () => observer?.bounded("queries_per_device"),
    ),
    // Devices of other instances cannot be asked then, and the client is told so.
    link: link ?? (isShared ? NO_LINK : undefined),
    locate: async (assetUuid) => (await sessions.find(assetUuid))?.instanceId,
    isUnresponsive: unresponsive.has,
  });
  const deployments = new Deployments({
    ...base,
    store: store.deployments,
    credentials,
    gateway,
    isUnresponsive: unresponsive.has,
    findObstacle: obstacleFinder(store.dataPlans, base.clock),
    ...(isShared && { pollMs: POLL_MS }),
    limits: {
      ackTimeoutMs: config.ack_timeout_s * 1000,
      deploymentTimeoutMs: config.deployment_timeout_s * 1000,
      maxAccountBytes: config.storage_mib_per_account * MIB,
      retentionMs: config.deployment_retention_days * DAY_MS,
    },
  });
  const sweeper = new DeadInstanceSweeper({
    ...base,
    unresponsive,
    listBusyAssets: busyAssets,
    noteLost: (lost) => deployments.noteLost(lost),
  });
  const membership = new Membership({
    ...base,
    recover: async (isOtherDatabase, onProgress) => {
      if (isOtherDatabase) await store.accountEvents.startAnew();
      await deployments.recover(isOtherDatabase, onProgress);
    },
    onRejoined: () => hub.reopenSessions(),
    onAbandoned: () => hub.abandon(),
    onRenewed: () => void sweeper.run(),
  });
  const { clock, logger } = base;
  const reports = new DeviceReports({ store: store.devices, clock, logger });
  const health = new DeviceHealthRows({ store: store.health, clock });
  const thresholds = new DeviceThresholds({ ...base, find: (assetUuid) => hub.find(assetUuid) });
  const queries = new DeviceQueries(gateway, clock, base.counts?.of("queries"), observer);
  return { hub, gateway, deployments, membership, reports, health, thresholds, queries };
}

/** SIMs: their usage and data plans, and asking their operators anew. */
function openSims(base: Base, { deployments }: Devices, locks: LeaseLock) {
  const { config, store, clock, simOperators: operators } = base;
  const usage = new OperatorUsageReader({
    ...base,
    store: store.operatorUsage,
    refreshMs: config.sim_usage_refresh_s * 1000,
  });
  const plans = new DataPlans({
    store: store.dataPlans,
    usage: new ShownDailyUsage({ ...base, sims: { operators, usage } }),
    clock,
    onRestored: () => deployments.deliverHeld(),
  });
  const refresher = new SimRefresher({ ...base, locks, intervalMs: config.sim_sync_interval_s * 1000 });
  return { operators, usage, refresher, plans };
}

/** Who acts, how people sign in, and the log of what was refused. */
async function openAccounts(base: Base) {
  const { config, store, access, principals, clock, logger, counts, observer, passwordAlgorithm } = base;
  const refusals = new RefusalLog({ audit: store.audit, clock, logger });
  const hasher = new PasswordHasher({
    ...(passwordAlgorithm && { algorithm: passwordAlgorithm }),
    onRefused: () => observer?.bounded("sign_ins_waiting"),
  });
  const signIns = new SignInGate({ store, hasher, clock, shared: counts?.of("sign-ins"), observer });
  const oidc = await openOidc(config, { store, refusals, clock, logger });
  return { access, principals, hasher, signIns, oidc, site: new Site(config.public_url), refusals };
}

/** What the endpoints work with. */
async function openContext(base: Base, devices: Devices, leaving: AbortSignal): Promise<ApiContext> {
  const { config, store, bus, sealer, clock, logger, counts, observer, stopping } = base;
  const { deployments, queries } = devices;
  const locks = new LeaseLock({ ...base, leases: store.isShared ? store.leases : undefined });
  const pollMs = store.isShared ? { pollMs: POLL_MS } : {};
  const maxPerAccount = config.max_streams_per_account;
  return {
    config,
    store,
    clock,
    logger,
    observer,
    stopping,
    accounts: await openAccounts(base),
    alerts: {
      channels: new Channels({
        ...base,
        poster: new Poster({ allowPrivate: config.alert_channels.allow_private }),
        mailer: new Mailer(config.mail),
      }),
      tests: new HourlyLimiter({
        clock,
        max: MAX_CHANNEL_TESTS_PER_HOUR,
        message: "Too many tests of channels; try again later.",
        shared: counts?.of("channel-tests"),
      }),
    },
    assets: {
      updater: new AssetUpdater({ ...base, locks }),
      conflicts: new ConflictRateLimiter(clock, counts?.of("conflicts"), observer),
      locks,
    },
    deployments,
    fleets: new Fleets({ ...base, deployments }),
    instance: { bus, counts, leaving },
    queries,
    releases: {
      served: new ServedReleases(store.agentReleases),
      gate: new DeviceAdmission(base, RELEASE_REQUESTS),
    },
    sealer,
    sims: openSims(base, devices, locks),
    streams: {
      limiter: new StreamLimiter({ clock, logger, counts, maxPerAccount, observer }),
      feeds: new AccountFeeds({ ...base, store: store.accountEvents, ...pollMs }),
    },
    uploads: new Uploads(store.uploads, clock, () => observer?.bounded("uploads_per_account")),
  };
}

/** Sends the devices to other instances. */
async function sendDevicesAway({ membership, hub }: Devices): Promise<void> {
  await membership.markStopping();
  await hub.sendAway();
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
