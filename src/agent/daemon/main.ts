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
import { StateWatch } from "../host/state-watch.ts";
import { createLinuxNetwork } from "../host/network.ts";
import { BudgetGate } from "../ledger/budget-gate.ts";
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
import { FULL_ACCESS_GROUP, localSocketPath, READ_ONLY_GROUP, readOnlySocketPath } from "../config/socket-path.ts";
import { reloadOnHangup } from "../service/reload.ts";
import { deviceCredentials } from "../registry/credentials/device-credentials.ts";
import { createRegistryClient } from "../registry/oci-client.ts";
import { createTrustSource } from "../registry/trust.ts";
import { findServiceManager } from "../../lib/service-manager.ts";
import { reportStatus } from "../service/status-report.ts";
import { feedWatchdog } from "../../lib/watchdog.ts";
import type { ImageServices } from "../images/ports.ts";
import type { DeployServices } from "../steps/context.ts";
import { Deployments } from "../steps/deployments.ts";
import { refuseUnstorable } from "../steps/refuse-unstorable.ts";
import { AppReconciler } from "../steps/app-reconciler.ts";
import { CrashGuard } from "../store/crash-guard.ts";
import { NotifyingStore } from "../store/notifying-store.ts";
import { openStore } from "../store/open-store.ts";
import { timeMarkIn } from "../store/time-mark.ts";
import { createPreviousLogs } from "../store/previous-logs.ts";
import { createDownloads } from "./downloads.ts";
import { createRemoteAccess } from "./remote-access.ts";
import { openLog } from "./open-log.ts";
import { secureAgentFiles } from "./secure-agent-files.ts";
import { removePreviousLogs } from "./remove-previous-logs.ts";
import { reportUnresolvedDenyRules } from "./report-unresolved-deny-rules.ts";
import { StoreScrubber } from "./store-scrubber.ts";
import { flushCompileCache } from "./compile-cache.ts";
import { compacting, createIdleGc } from "./idle-gc.ts";
import { reexecWithExtraCa } from "./reexec-with-extra-ca.ts";
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
  await run(config, loaded, logger, ring);
}

/** The composition root of the daemon. @param loaded the configuration as it was read */
async function run(config: Config, loaded: Config, logger: Logger, log: LogRing): Promise<void> {
  const clock = new SteadyClock({ clock: systemClock, logger, isConfirmed: kernelClockReader() });
  const { env: environment, pid } = process;
  using manager = findServiceManager({ environment, pid, clock, openSender: openDatagramSender });
  mkdirSync(config.state_dir, { recursive: true, mode: 0o700 });
  secureAgentFiles(config, logger);
  using lock = tryLock(join(config.state_dir, "agent.lock"));
  if (!lock) throw new Error(`${config.state_dir} is in use by another edge-agent`);

  const bootId = readBootId();
  const opened = openStore({ directory: config.state_dir, clock, logger, bootId });
  using store = new NotifyingStore(opened.store);
  clock.resume(timeMarkIn(store, logger));
  using _time = clock;
  using crashGuard = new CrashGuard({ store, bootId, clock, logger, maxCrashes: config.deploy.max_crashes });
  const network = createLinuxNetwork({ kinds: config.data.interfaces });
  const watch = new NetworkWatch(network, clock);
  using ledger = new TrafficLedger({ store: store.ledger, network, watch, clock, logger, bootId });
  const dataPolicy = toDataPolicy(config);
  const dataUsage = new DataUsageReader(ledger, dataPolicy);
  const socketPath = createSocketFinder({ configured: config.engine.socket, environment: process.env });
  const engineMeter = new EngineMeter();
  const docker = createDockerEngine({ socketPath, clock });
  const restartPauses = new RestartPauses({ engine: docker, clock, logger, stateDir: config.state_dir });
  const engine = engineMeter.measured(restartPauses.engine);
  const facts = memoize(clock, ENGINE_INFO_TTL_MS, (signal) => engine.info(signal));
  const registry = createRegistryClient({
    clock,
    userAgent: `edge-agent/${VERSION}`,
    trust: createTrustSource({
      extraCa: config.extraCa,
      registries: config.registries,
      engineInsecure: async (signal) => (await facts(signal)).insecureRegistries,
    }),
  });
  const host = createLinuxHost();
  const stateWatch = new StateWatch({ directory: config.state_dir, clock, logger });
  const gate = new BudgetGate({ policy: dataPolicy, ledger, watch, clock });
  const downloads = { engine, registry, host, gate, crashGuard, store, clock, random: Math.random, logger };
  const { downloader, sweeper, imagesInUse } = createDownloads({ ...downloads, config: toDownloadConfig(config) });
  await using _downloader = downloader;
  const imageServices = {
    engine,
    host,
    store,
    clock,
    random: Math.random,
    logger,
    config: toImageConfig(config),
    dataRoot: async (signal: AbortSignal) => (await facts(signal)).dataRoot,
    maxLayers: async (signal: AbortSignal) => (await facts(signal)).maxLayers,
    platform: async (signal: AbortSignal) => {
      const { os, architecture } = await facts(signal);
      return platformOf(os, architecture, machine());
    },
    registry,
    downloader,
    credentials: deviceCredentials(config, clock),
    pullSlots: new Semaphore(config.deploy.concurrent_pulls),
    gate,
    ledger,
  } satisfies ImageServices;
  const images = createImageProvider(imageServices);
  const previousLogs = createPreviousLogs(config.state_dir);
  const services = {
    ...imageServices,
    engineMeter,
    engineInfo: facts,
    config: toDeployConfig(config),
    images,
    previousLogs,
    crashGuard,
    troubles: new EngineTroubles(),
  } satisfies DeployServices;
  await using deployments = new Deployments(services, () => opened.rebuild.isSet);
  const commands = refuseUnstorable(deployments, () => stateWatch.onFailedWrite());
  const reconciler = new AppReconciler({
    ...services,
    rebuild: opened.rebuild,
    lease: (app) => deployments.lease(app),
    endedRuns: () => deployments.endedRuns,
  });
  const { telemetry, cleanup } = config;
  const cleaner = new Cleaner({
    isInUse: (imageId) => imagesInUse.has(imageId),
    ...services,
    isEnabled: cleanup.enabled,
    rules: { keepMs: cleanup.keep_images_days * DAY_MS, minFreeShare: cleanup.low_disk_percent / 100 },
    findPullObstacle: (reference, image, signal) => findPullObstacle(reference, image, services, signal),
  });
  const scrubber = new StoreScrubber({ store, removeExpiredQuarantine: opened.removeExpiredQuarantine, clock, logger });
  using idleGc = createIdleGc({ clock, collect: globalThis.gc && compacting(globalThis.gc) });
  using _changes = store.onChange(idleGc.onWork);
  using _removals = removePreviousLogs({ previousLogs, store, isRebuilding: opened.rebuild.isSet, logger });
  const reporting = createReporting({
    ...services,
    stateDir: config.state_dir,
    limits: { bytesPerSecond: telemetry.logs_max_bytes_per_s, totalBytes: telemetry.logs_max_bytes },
    reportsPerHour: telemetry.reports_max_per_hour,
    isBusy: (app) => deployments.isBusy(app),
    heldFor: (app) => crashGuard.heldFor(app),
    facts: deviceFactsReader(VERSION, cleanup.low_disk_percent / 100),
    stateWatch,
    readings: (signal) => takeReadings({ program: process.argv[1] ?? "", logger }, signal),
    agentUptimeS: () => Math.floor(process.uptime()),
    dataUsage: (params) => dataUsage.between(params),
    traffic: (purpose, bytes, app) => {
      idleGc.onWork();
      ledger.attribute({ purpose, bytes, ...(app !== undefined && { app }) });
    },
  });
  await using remoteAccess = createRemoteAccess({
    ...services,
    config,
    socketPath,
    traffic(direction, bytes, app) {
      idleGc.onWork();
      ledger.attribute({ purpose: "remote_access", bytes, app }, direction);
    },
  });
  const linkBytesPerDay = (): number | undefined =>
    dataPolicy.metered.includes(watch.current().kind) ? reconnectBudgetBytesPerDay(dataPolicy) : undefined;
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
    config: toLinkConfig(config, bootId),
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

  const socket = localSocketPath(config);
  const local = {
    onRequest: idleGc.onWork,
    routes: localRoutes({
      services,
      deployments: commands,
      stateFault: () => stateWatch.ask(),
      repairFailure: (app) => reconciler.failureOf(app),
      dataUsage,
      cleaner,
      link: () => uplink.status(),
      linkSince: linkWatch(uplink, clock),
      keepaliveMs: () => keepaliveInterval.currentMs(),
      controlPlaneUrl: config.control_plane_url,
      log,
      version: VERSION,
    }),
    logger,
  };
  await using _local = await serveLocally({ ...local, path: socket, group: FULL_ACCESS_GROUP, access: "change" });
  const reading = { path: readOnlySocketPath(socket), group: READ_ONLY_GROUP, access: "read" } as const;
  await using _reading = await serveLocally({ ...local, ...reading });

  logger.info({ version: VERSION, config: config.path, state_dir: config.state_dir }, "edge-agent starts");
  // Not awaited: a file system that hangs must not block the start.
  void reportUnresolvedDenyRules(config.policy, host, logger);
  deployments.resume();
  using _status = reportStatus({ manager, uplink, store, clock });
  using _compiled = flushCompileCache(clock);
  using _watchdog = feedWatchdog(manager, clock);
  // In a terminal, SIGHUP ends the process as usual.
  const onPolicy = (policy: Config["policy"]): void => remoteAccess.streams.allow(policy.remote_access);
  using _reload = isatty(0) ? undefined : reloadOnHangup({ config: loaded, logger, manager, onPolicy });
  manager.ready();
  await untilStopped(logger, (signal) => {
    signal.addEventListener(
      "abort",
      () => {
        crashGuard.stop();
        manager.stopping();
      },
      { once: true },
    );
    const parts = [uplink, reconciler, restartPauses, reporting, sweeper, cleaner, scrubber, stateWatch];
    return Promise.all(parts.map((part) => part.run(signal)));
  });
  logger.info("edge-agent stops; the apps keep running");
}
