import { findNetworkFault } from "../net/interfaces.ts";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { machine } from "node:os";
import { isatty } from "node:tty";
import { systemClock } from "../../lib/clock.ts";
import { SteadyClock } from "../../lib/steady-clock.ts";
import { tryLock } from "../../lib/instance-lock.ts";
import type { Logger } from "../../lib/logger.ts";
import { memoize } from "../../lib/memoize.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { openDatagramSender } from "../../lib/unix-datagram.ts";
import { VERSION } from "../../lib/version.ts";
import { type Config, loadConfig } from "../config/load.ts";
import {
  reconnectBudgetBytesPerDay,
  toDataPolicy,
  toDeployConfig,
  toDownloadConfig,
  toImageConfig,
  toKeepaliveBounds,
  toReportingConfig,
} from "./settings.ts";
import { platformOf } from "../core/image/platform.ts";
import { Cleaner } from "../cleanup/cleaner.ts";
import { findPullObstacle } from "../cleanup/pull-obstacle.ts";
import { createDockerEngine } from "../engine/docker/docker-engine.ts";
import { EngineMeter } from "../engine/engine-meter.ts";
import { RestartPauses } from "../engine/restart-pauses.ts";
import { createSocketFinder } from "../engine/find-socket.ts";
import { kernelClockReader } from "../host/clock-facts.ts";
import { readBootId } from "../host/boot-id.ts";
import { deviceFactsReader } from "../host/device-facts.ts";
import { createLinuxHost } from "../host/linux-host.ts";
import { ModemManager } from "../host/modem-manager.ts";
import { StateWatch } from "../host/state-watch.ts";
import { createLinuxNetwork } from "../host/network.ts";
import { BudgetGate } from "../ledger/budget-gate.ts";
import { BudgetWatch } from "../ledger/budget-watch.ts";
import { DataUsageReader } from "../ledger/data-usage-reader.ts";
import { TrafficLedger } from "../ledger/traffic-ledger.ts";
import { NetworkWatch } from "../ledger/network-watch.ts";
import { LearnedInterval } from "../link/keepalive-interval.ts";
import { createReconnectLimiter } from "../link/reconnect-limiter.ts";
import { toLinkConfig } from "../link/to-link-config.ts";
import { createUplink } from "../link/uplink.ts";
import { createReporting } from "../live/reporting.ts";
import { createImageProvider } from "../images/image-provider.ts";
import { linkWatch } from "../local/link-watch.ts";
import { localRoutes } from "../local/local-routes.ts";
import type { LogRing } from "../local/log-ring.ts";
import { serveLocally } from "../local/server.ts";
import { localSocketPath } from "../config/socket-path.ts";
import { reloadOnHangup } from "../service/reload.ts";
import { deviceCredentials } from "../registry/credentials/device-credentials.ts";
import { findServiceManager } from "../../lib/service-manager.ts";
import { reportStatus } from "../service/status-report.ts";
import { feedWatchdog } from "../../lib/watchdog.ts";
import type { ImageServices } from "../images/ports.ts";
import type { DeployServices } from "../steps/context.ts";
import { DeviceDeployments } from "../steps/deployments.ts";
import { refuseUnstorable } from "../steps/refuse-unstorable.ts";
import { AppReconciler } from "../steps/app-reconciler.ts";
import { CrashGuard } from "../store/crash-guard.ts";
import { NotifyingStore } from "../store/notifying-store.ts";
import { openStore } from "../store/open-store.ts";
import { timeMarkIn } from "../store/time-mark.ts";
import { watchTrial } from "../updates/watch-trial.ts";
import { createPreviousLogs } from "../store/previous-logs.ts";
import { createAgentUpdates, installedVersions, storeOnTrial, withAgentUpdates } from "./agent-updates.ts";
import { createDownloads, createFileFetcher } from "./downloads.ts";
import { createRegistryClients } from "./registry-clients.ts";
import { createRemoteAccess } from "./remote-access.ts";
import { openLog } from "./open-log.ts";
import { secureAgentFiles } from "./secure-agent-files.ts";
import { removePreviousLogs } from "./remove-previous-logs.ts";
import { reportUnresolvedDenyRules } from "./report-unresolved-deny-rules.ts";
import { StoreScrubber } from "./store-scrubber.ts";
import { flushCompileCache } from "./compile-cache.ts";
import { compacting, createIdleGc } from "./idle-gc.ts";
import { reexecWithExtraCa } from "./reexec-with-extra-ca.ts";
import { openHealth } from "../telemetry/open-health.ts";
import { takeReadings } from "../telemetry/take-readings.ts";
import { EngineTroubles } from "../engine/engine-troubles.ts";
import { untilStopped } from "./until-stopped.ts";

const DAY_MS = 24 * 60 * 60_000;
const ENGINE_INFO_TTL_MS = 600_000;

/** Runs the daemon until SIGTERM or SIGINT. @param path configuration file */
export async function runDaemon(path: string): Promise<void> {
  // Node.js would appear under the name of its main thread in process lists.
  process.title = "edge-agent";
  // New files may contain secrets of apps.
  process.umask(0o077);
  const loaded = loadConfig(path);
  const config = reexecWithExtraCa(loaded);
  const { logger, ring } = await openLog(config);
  await run({ config, loaded, logger, log: ring });
}

interface Start {
  readonly config: Config;
  /** The configuration as it was read. */
  readonly loaded: Config;
  readonly logger: Logger;
  readonly log: LogRing;
}

/** Composes the daemon, group by group, and runs it. What a group opens is closed in the reverse order. */
async function run(start: Start): Promise<void> {
  const { config, logger } = start;
  await using owned = new AsyncDisposableStack();
  const base = openBase(start, owned);
  const traffic = openTraffic(base, owned);
  const engine = openEngine(base);
  const images = openImages(base, engine, traffic, owned);
  const apps = openApps(base, engine, images, owned);
  const link = openLink(base, engine, traffic, apps, owned);
  await openLocal(base, traffic, apps, link, owned);

  const { manager, clock, store, health, stateWatch, scrubber, crashGuard } = base;
  const { deployments, reconciler, cleaner } = apps;
  const { uplink, reporting, remoteAccess } = link;
  logger.info({ version: VERSION, config: config.path, state_dir: config.state_dir }, "edge-agent starts");
  // Not awaited: a file system that hangs must not block the start.
  void reportUnresolvedDenyRules(config.policy, base.host, logger);
  deployments.resume();
  apps.updates.resume();
  owned.use(reportStatus({ manager, uplink, store, clock }));
  owned.use(flushCompileCache(clock));
  owned.use(feedWatchdog(manager, clock));
  // In a terminal, SIGHUP ends the process as usual.
  const onPolicy = (policy: Config["policy"]): void => remoteAccess.streams.allow(policy.remote_access);
  owned.use(isatty(0) ? undefined : reloadOnHangup({ config: start.loaded, logger, manager, onPolicy }));
  const trialWatch = watchTrial({
    ...apps.services,
    versions: installedVersions(config),
    isBusy: (app) => deployments.isBusy(app),
    link: () => uplink.status(),
  });
  manager.ready();
  const onStop = (): void => {
    crashGuard.stop();
    manager.stopping();
  };
  await untilStopped(logger, (signal) => {
    signal.addEventListener("abort", onStop, { once: true });
    const watches = [engine.restartPauses, images.sweeper, cleaner, scrubber, stateWatch, health, trialWatch];
    return Promise.all([uplink, reconciler, reporting, ...watches].map((part) => part.run(signal)));
  });
  logger.info("edge-agent stops; the apps keep running");
}

type Base = ReturnType<typeof openBase>;

/** What all groups share: time, the machine, and the agent's state, which one process holds at a time. */
function openBase({ config, logger, log }: Start, owned: AsyncDisposableStack) {
  const clock = new SteadyClock({ clock: systemClock, logger, isConfirmed: kernelClockReader() });
  const { env: environment, pid } = process;
  const manager = owned.use(findServiceManager({ environment, pid, clock, openSender: openDatagramSender }));
  mkdirSync(config.state_dir, { recursive: true, mode: 0o700 });
  secureAgentFiles(config, logger);
  if (!owned.use(tryLock(join(config.state_dir, "agent.lock")))) {
    throw new Error(`${config.state_dir} is in use by another edge-agent`);
  }
  const bootId = readBootId();
  const trial = storeOnTrial(installedVersions(config));
  const opened = openStore({ directory: config.state_dir, clock, logger, bootId, trial });
  const store = owned.use(new NotifyingStore(opened.store));
  clock.resume(timeMarkIn(store, logger));
  owned.use(clock);
  const maxCrashes = config.deploy.max_crashes;
  return {
    config,
    logger,
    log,
    clock,
    random: Math.random,
    manager,
    bootId,
    store,
    rebuild: opened.rebuild,
    crashGuard: owned.use(new CrashGuard({ store, bootId, clock, logger, maxCrashes })),
    host: createLinuxHost(),
    health: openHealth({ config, modem: new ModemManager(), store, clock, random: Math.random, logger }),
    stateWatch: new StateWatch({ directory: config.state_dir, clock, logger }),
    scrubber: new StoreScrubber({ store, removeExpiredQuarantine: opened.removeExpiredQuarantine, clock, logger }),
  };
}

type Traffic = ReturnType<typeof openTraffic>;

/** What the device transfers: counted by purpose, and bounded by the owner's budgets. */
function openTraffic({ config, store, clock, logger, bootId }: Base, owned: AsyncDisposableStack) {
  const network = createLinuxNetwork({ kinds: config.data.interfaces });
  const watch = new NetworkWatch(network, clock);
  const ledger = owned.use(new TrafficLedger({ store: store.ledger, network, watch, clock, logger, bootId }));
  const policy = toDataPolicy(config);
  return {
    watch,
    ledger,
    dataUsage: new DataUsageReader(ledger, policy),
    budgetWatch: new BudgetWatch({ policy, ledger, clock }),
    gate: new BudgetGate({ policy, ledger, watch, clock }),
    /** Maximum bytes a day for the link itself, by the network that it uses now; `undefined`: no bound. */
    linkBytesPerDay: (): number | undefined =>
      policy.metered.includes(watch.current().kind) ? reconnectBudgetBytesPerDay(policy) : undefined,
  };
}

type EngineGroup = ReturnType<typeof openEngine>;

/** The container engine. */
function openEngine({ config, clock, logger }: Base) {
  const socketPath = createSocketFinder({ configured: config.engine.socket, environment: process.env });
  const engineMeter = new EngineMeter();
  const docker = createDockerEngine({ socketPath, clock });
  const restartPauses = new RestartPauses({ engine: docker, clock, logger, stateDir: config.state_dir });
  const engine = engineMeter.measured(restartPauses.engine);
  const engineInfo = memoize(clock, ENGINE_INFO_TTL_MS, (signal) => engine.info(signal));
  return { socketPath, engineMeter, restartPauses, engine, engineInfo };
}

type Images = ReturnType<typeof openImages>;

/** Images: where they come from, how they get onto the device, and what is left of interrupted downloads. */
function openImages(base: Base, engineGroup: EngineGroup, { gate, ledger }: Traffic, owned: AsyncDisposableStack) {
  const { config, clock, store, host, random, logger, crashGuard } = base;
  const { engine, engineInfo } = engineGroup;
  const { registry, releaseRegistry } = createRegistryClients({ config, clock, engineInfo, traffic: ledger });
  const downloads = { engine, registry, releaseRegistry, host, gate, crashGuard, store, clock, random, logger };
  const created = createDownloads({ ...downloads, config: toDownloadConfig(config) });
  const { downloader } = created;
  owned.use(downloader);
  const services = {
    engine,
    host,
    store,
    clock,
    random,
    logger,
    config: toImageConfig(config),
    engineInfo,
    platform: async (signal: AbortSignal) => {
      const { os, architecture } = await engineInfo(signal);
      return platformOf(os, architecture, machine());
    },
    registry,
    downloader,
    credentials: deviceCredentials(config, clock),
    pullSlots: new Semaphore(config.deploy.concurrent_pulls),
    gate,
    ledger,
  } satisfies ImageServices;
  return { ...created, services, images: createImageProvider(services), releaseRegistry };
}

type Apps = ReturnType<typeof openApps>;

/** Apps: their deployments, what keeps them as they were deployed, and the removal of images that nothing needs. */
function openApps(base: Base, { engineMeter }: EngineGroup, group: Images, owned: AsyncDisposableStack) {
  const { config, rebuild, stateWatch, crashGuard, clock, store } = base;
  const services = {
    ...group.services,
    engineMeter,
    config: toDeployConfig(config),
    images: group.images,
    fileFetcher: createFileFetcher(config, group),
    previousLogs: createPreviousLogs(config.state_dir),
    crashGuard,
    troubles: new EngineTroubles(),
  } satisfies DeployServices;
  const isRebuilding = (): boolean => rebuild.isSet;
  const deployments = owned.use(new DeviceDeployments(services, isRebuilding));
  const reconciler = new AppReconciler({
    ...services,
    rebuild,
    lease: (app) => deployments.lease(app),
    endedRuns: () => deployments.endedRuns,
  });
  const { cleanup } = config;
  const cleaner = new Cleaner({
    ...services,
    isInUse: (imageId) => group.imagesInUse.has(imageId),
    isEnabled: cleanup.enabled,
    rules: { keepMs: cleanup.keep_images_days * DAY_MS, minFreeShare: cleanup.low_disk_percent / 100 },
    findPullObstacle: (reference, image, signal) => findPullObstacle(reference, image, services, signal),
  });
  const idleGc = owned.use(createIdleGc({ clock, collect: globalThis.gc && compacting(globalThis.gc) }));
  owned.use(store.onChange(idleGc.onWork));
  owned.use(removePreviousLogs({ ...services, store, isRebuilding: rebuild.isSet }));
  const isWorking = (): boolean => deployments.isWorking;
  const { releaseRegistry: registry, blobs } = group;
  const { gate, pullSlots: slots, ledger } = services;
  const parts = { source: { registry, blobs }, bounds: { gate, slots, ledger }, isWorking };
  const updates = owned.use(createAgentUpdates({ ...services, store, config, ...parts }));
  const commands = refuseUnstorable(withAgentUpdates(deployments, updates), () => stateWatch.onFailedWrite());
  return { services, deployments, updates, commands, reconciler, cleaner, idleGc };
}

type Link = ReturnType<typeof openLink>;

/** The link to the service, and what goes over it: commands, events, reports, and streams to apps. */
function openLink(base: Base, { socketPath }: EngineGroup, traffic: Traffic, apps: Apps, owned: AsyncDisposableStack) {
  const { config, store, clock, logger, crashGuard } = base;
  const { ledger, watch, dataUsage, linkBytesPerDay } = traffic;
  const { services, deployments, commands, idleGc } = apps;
  const reporting = createReporting({
    services,
    config: toReportingConfig(config),
    apps: { isBusy: (app) => deployments.isBusy(app), heldFor: (app) => crashGuard.heldFor(app) },
    device: {
      facts: deviceFactsReader(VERSION, config.cleanup.low_disk_percent / 100),
      readings: (signal) => takeReadings({ program: process.argv[1] ?? "", logger }, signal),
      agentUptimeS: () => Math.floor(process.uptime()),
      engineTroubles: services.troubles,
      stateWatch: base.stateWatch,
      budgetWatch: traffic.budgetWatch,
      health: base.health,
    },
    traffic: {
      usage: (params) => dataUsage.between(params),
      count(purpose, bytes, app) {
        idleGc.onWork();
        ledger.attribute({ purpose, bytes, ...(app !== undefined && { app }) });
      },
    },
  });
  const remoteAccess = createRemoteAccess({
    ...services,
    store,
    config,
    socketPath,
    traffic(direction, bytes, app) {
      idleGc.onWork();
      ledger.attribute({ purpose: "remote_access", bytes, app }, direction);
    },
  });
  owned.use(remoteAccess);
  const keepaliveInterval = new LearnedInterval({
    bounds: toKeepaliveBounds(config),
    store,
    // The link may also work without a default route, such as on a closed network.
    network: () => watch.current().id ?? "none",
    maxBytesPerDay: linkBytesPerDay,
    clock,
    logger,
  });
  const uplink = createUplink({
    config: toLinkConfig(config, base.bootId),
    commands,
    events: store,
    reporting,
    streams: remoteAccess.streams,
    traffic: ledger,
    reconnectLimiter: createReconnectLimiter(clock, linkBytesPerDay),
    keepaliveInterval,
    clock,
    logger,
    agentVersion: VERSION,
  });
  return { reporting, remoteAccess, keepaliveInterval, uplink };
}

/** The sockets for the technician's commands: one that may change things, and one that only reads. */
async function openLocal(
  { config, clock, logger, log, stateWatch }: Base,
  { dataUsage }: Traffic,
  { services, commands, reconciler, cleaner, idleGc }: Apps,
  { uplink, keepaliveInterval }: Link,
  owned: AsyncDisposableStack,
): Promise<void> {
  const routes = localRoutes({
    services,
    deployments: commands,
    dataUsage,
    cleaner,
    link: {
      controlPlaneUrl: config.control_plane_url,
      status: () => uplink.status(),
      sinceMs: linkWatch(uplink, clock),
      keepaliveMs: () => keepaliveInterval.currentMs(),
    },
    faults: {
      state: () => stateWatch.ask(),
      network: () => findNetworkFault(config.control_plane_url),
      repair: (app) => reconciler.failureOf(app),
    },
    log,
    version: VERSION,
  });
  owned.use(await serveLocally(localSocketPath(config), { routes, logger, onRequest: idleGc.onWork }));
}
