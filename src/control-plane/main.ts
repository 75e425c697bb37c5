import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { createLogger, type Logger } from "../lib/logger.ts";
import { describePermissionChanges } from "../lib/file-permissions.ts";
import { findServiceManager } from "../lib/service-manager.ts";
import { openDatagramSender } from "../lib/unix-datagram.ts";
import { feedWatchdog } from "../lib/watchdog.ts";
import type { LinkedBus } from "./bus/linked-bus.ts";
import type { SealedLink } from "./bus/sealed/sealed-link.ts";
import { type CliContext, ServiceCommandError, type ServeOptions } from "./cli/context.ts";
import { run } from "./cli/run.ts";
import type { Config } from "./config/config.ts";
import { databaseCommands, openPostgres, PERMISSIONS_MESSAGE } from "./database-commands.ts";
import { type Database, databaseOf, keyFileOf } from "./config/database-config.ts";
import { readCopiedMark, removeCopiedMark } from "./data/copied-mark.ts";
import { explainEmptyDatabase, prepareDataDir } from "./data/data-dir.ts";
import type { ImageResolver } from "./images/image-resolver.ts";
import type { Sealer } from "./sealing/sealer.ts";
import { readOperatorAccess } from "./config/sim-operators-config.ts";
import { consoleUrlOf, describeSetUp, noteConsoleUrl } from "./accounts/set-up-code.ts";
import { logStoreError } from "./store/unavailable.ts";
import type { Metrics, MetricsOptions } from "./metrics/metrics.ts";
import type { Observer } from "./metrics/observer.ts";
import type { RunningServer } from "./server.ts";
import type { PostgresOptions } from "./store/postgres/options.ts";
import { openStore } from "./store/sqlite/open-store.ts";
import type { Store } from "./store/store.ts";

/** The composition root of the service: chooses the implementations of the store, the bus and the SIM operator. */
async function serve(config: Config, options: ServeOptions): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const database = databaseOf(config);
  const open: OpenStore =
    database.kind === "sqlite"
      ? await lockToServe(database.dataDir, options, resources)
      : (logger) => openWatched(database.options, logger);
  // Loaded lazily: the server takes longer to load than an administration command takes to run.
  const [{ startServer }, { InProcessBus }, { logOperators }] = await Promise.all([
    import("./server.ts"),
    import("./bus/in-process-bus.ts"),
    import("./sim-operator/log-operators.ts"),
  ]);
  const logger = await createLogger({ name: "edge-control", level: config.log_level, background: true });
  const store = resources.use(await open(logger));
  await logOperators(config.sim_operators, store.simCredentials, logger);
  const sealer = await openSealing(config, database, store, logger);
  await using messages = await openMessages(config, { store, sealer, logger });
  const bus = messages?.bus ?? new InProcessBus();
  const metrics = await createMetrics(config, { store, bus, clock: systemClock, logger });
  if (messages && metrics) {
    messages.bus.onLeftOut = () => metrics.observer.bounded("wakes_of_instances");
    messages.link.onRefused = () => metrics.observer.bounded("messages_of_instances");
  }
  await using _metrics = config.metrics_listen && (await metrics?.listen(config.metrics_listen, logger));
  const simOperators = await openSimOperators(config, store, sealer, metrics?.observer);
  // Before the server listens: a supervisor that sees it listen may stop it at once.
  const stopSignal = waitForStopSignal();
  const server = await startServer({
    config,
    store: metrics?.store ?? store,
    bus,
    link: messages?.link,
    ...(metrics && { metrics }),
    simOperators,
    sealer,
    images: await openImages(config),
    clock: systemClock,
    logger,
  });
  const consoleUrl = consoleUrlOf(config, server.port);
  await runUntil(stopSignal, server, async () => {
    noteConsoleUrl(config, consoleUrl);
    await announceSetUp(consoleUrl, store, logger);
  });
}

/** The SIM operators of accounts, and those of the configuration for the others. */
async function openSimOperators(config: Config, store: Store, sealer: Sealer, observer: Observer | undefined) {
  const [{ openOperators }, { OperatorPool }, { AccountOperators }, { StoredSimOperator }] = await Promise.all([
    import("./sim-operator/sim-operators.ts"),
    import("./sim-operator/operator-pool.ts"),
    import("./sim-operator/account-operators.ts"),
    import("./sim-operator/stored-sim-operator.ts"),
  ]);
  const pool = new OperatorPool(systemClock, observer);
  const access = readOperatorAccess(config.sim_operators);
  const others = openOperators(access, new StoredSimOperator(store.usage), pool);
  return new AccountOperators({ store: store.simCredentials, sealer, others, pool });
}

/** Reports the life of a server that listens to the service manager, and stops it at the signal. */
async function runUntil(
  stopSignal: Promise<unknown>,
  server: RunningServer,
  onReady: () => Promise<void>,
): Promise<void> {
  using manager = findServiceManager({
    environment: process.env,
    pid: process.pid,
    clock: systemClock,
    openSender: openDatagramSender,
  });
  using _watchdog = feedWatchdog(manager, systemClock);
  manager.status(`Listening on ${server.address}, port ${server.port}`);
  manager.ready();
  await onReady();
  await stopSignal;
  manager.stopping();
  await server.stop();
}

/** Opens the keys beside the database, or where the configuration says. */
async function openSealing(config: Config, database: Database, store: Store, logger: Logger): Promise<Sealer> {
  const [{ openSealer }, { KeyFileError }] = await Promise.all([
    import("./sealing/open-sealer.ts"),
    import("./sealing/key-file.ts"),
  ]);
  try {
    return await openSealer(keyFileOf(config, database), store, systemClock, logger);
  } catch (error) {
    if (error instanceof KeyFileError) throw new ServiceCommandError(error.message);
    throw error;
  }
}

async function openImages({ image_resolution: { enabled, allow_private } }: Config): Promise<ImageResolver> {
  if (!enabled) return new (await import("./images/image-resolver.ts")).PinnedImages();
  const { RegistryImages } = await import("./images/registry-images.ts");
  return new RegistryImages({ clock: systemClock, allowPrivate: allow_private });
}

/** Says on standard error, not in the log, how to make the first admin while there is none. */
async function announceSetUp(consoleUrl: string, store: Store, logger: Logger): Promise<void> {
  try {
    const text = await describeSetUp({ store, clock: systemClock }, consoleUrl);
    if (text !== undefined) process.stderr.write(`edge-control: ${text}\n`);
  } catch (error) {
    logStoreError(logger, error, {}, "cannot create a set-up code; create one with edge-control setup-code");
  }
}

/** Loaded only if there are to be metrics, so that without them nothing is measured. */
async function createMetrics(config: Config, options: MetricsOptions): Promise<Metrics | undefined> {
  if (!config.metrics_listen) return undefined;
  const { Metrics: Loaded } = await import("./metrics/metrics.ts");
  return new Loaded(options);
}

type OpenStore = (logger: Logger) => Promise<Store>;

/** Locks a data directory for this process. Returns what opens its store. Throws `CommandError` if it must not be served. */
async function lockToServe(
  path: string,
  { mayServeCopied }: ServeOptions,
  resources: AsyncDisposableStack,
): Promise<OpenStore> {
  const dataDir = prepareDataDir(path);
  const lock = tryLock(dataDir.lock);
  if (!lock)
    throw new ServiceCommandError(`another edge-control serves ${path}; stop it, or choose another --data-dir`);
  resources.use(lock);
  const why = explainEmptyDatabase(dataDir);
  if (why !== undefined) throw new ServiceCommandError(why);
  const copied = readCopiedMark(dataDir.database);
  if (copied && !mayServeCopied) {
    throw new ServiceCommandError(
      copied.isComplete
        ? `${path} was copied to ${copied.target}, and two services must not serve the same devices: serve that one, or ` +
            "this one with --force"
        : `a copy of ${path} to ${copied.target} has begun: complete it with edge-control copy, or give it up with --force`,
    );
  }
  if (copied) await removeCopiedMark(dataDir.database);
  const { database, permissionChanges } = dataDir;
  return async (logger) => {
    if (permissionChanges.length > 0)
      logger.warn({ mended: describePermissionChanges(permissionChanges) }, PERMISSIONS_MESSAGE);
    return openStore(database);
  };
}

/** Opens a PostgreSQL store to serve it: the log says when it is away. */
async function openWatched(options: PostgresOptions, logger: Logger): Promise<Store> {
  const [{ watchedStore }, { StoreOutageLog }] = await Promise.all([
    import("./store/watched-store.ts"),
    import("./store/outage-log.ts"),
  ]);
  return watchedStore(await openPostgres(options), new StoreOutageLog(systemClock, logger));
}

interface Messages extends AsyncDisposable {
  readonly bus: LinkedBus;
  readonly link: SealedLink;
}

interface MessagesOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly logger: Logger;
}

/** Opens what carries messages to other instances, if that is configured. Begins to connect, and does not wait for it. */
async function openMessages(config: Config, { store, sealer, logger }: MessagesOptions): Promise<Messages | undefined> {
  if (!Object.keys(config).some((key) => key.startsWith("nats_") && key !== "nats_prefix")) return undefined;
  const [{ natsOptionsOf }, { NatsLink }, { LinkedBus: Bus }, { SealedLink: Sealed }, { BusKeys }] = await Promise.all([
    import("./bus/nats/configured.ts"),
    import("./bus/nats/nats-link.ts"),
    import("./bus/linked-bus.ts"),
    import("./bus/sealed/sealed-link.ts"),
    import("./sealing/bus-keys.ts"),
  ]);
  try {
    const nats = natsOptionsOf(config);
    if (!nats) return undefined;
    await using owner = new AsyncDisposableStack();
    const clock = systemClock;
    const keys = owner.use(await BusKeys.open({ store, sealer, clock, logger }));
    const carrier = owner.use(new NatsLink({ nats, clock, logger }));
    const link = owner.use(new Sealed({ link: carrier, keys, clock, logger }));
    const bus = owner.use(new Bus(link));
    const owned = owner.move();
    return { bus, link, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  } catch (error) {
    throw new ServiceCommandError(error instanceof Error ? error.message : String(error));
  }
}

/** Resolves on SIGTERM or SIGINT. A second signal ends the process at once. */
function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      process.off("SIGTERM", stop);
      process.off("SIGINT", stop);
      resolve();
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  });
}

// Files created here contain hashes of keys and deployed specifications.
process.umask(0o077);
const context: CliContext = {
  ...databaseCommands(process.stderr),
  serve,
  clock: systemClock,
  stdout: process.stdout,
};
process.exitCode = await run(process.argv.slice(2), context, process.stderr);
