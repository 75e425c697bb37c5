import { resolve } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { createLogger } from "../lib/logger.ts";
import { describePermissionChanges } from "../lib/file-permissions.ts";
import { type CliContext, CommandError } from "./cli/context.ts";
import { run } from "./cli/run.ts";
import { type Config, DATA_DIR_VARIABLE } from "./config.ts";
import { backup } from "./data/backup.ts";
import { type DataDir, findDataDir, prepareDataDir } from "./data/data-dir.ts";
import { scrubDatabase } from "./data/scrub-database.ts";
import { restore } from "./data/restore.ts";
import type { Metrics, MetricsOptions } from "./metrics/metrics.ts";
import { openStore } from "./store/sqlite/open-store.ts";

/** The composition root: chooses the implementations of the store, the bus and the SIM operator. */
async function serve(config: Config): Promise<void> {
  const { database, lock: lockFile, permissionChanges } = prepareDataDir(config.data_dir);
  using lock = tryLock(lockFile);
  if (!lock) {
    throw new CommandError(`another edge-control serves ${config.data_dir}; stop it, or choose another --data-dir`);
  }
  // Loaded lazily: the server takes longer to load than an administration command takes to run.
  const [{ startServer }, { InProcessBus }, { StoredSimOperator }] = await Promise.all([
    import("./server.ts"),
    import("./bus/in-process-bus.ts"),
    import("./sim-operator/stored-sim-operator.ts"),
  ]);
  const logger = await createLogger({ name: "edge-control", level: config.log_level, background: true });
  if (permissionChanges.length > 0)
    logger.warn({ mended: describePermissionChanges(permissionChanges) }, PERMISSIONS_MESSAGE);
  scrubDatabase(database, logger);
  await using store = openStore(database);
  const bus = new InProcessBus();
  const metrics = await createMetrics(config, { store, bus, clock: systemClock, logger });
  await using _metrics = config.metrics_listen && (await metrics?.listen(config.metrics_listen, logger));
  const server = await startServer({
    config,
    store: metrics?.store ?? store,
    bus,
    ...(metrics && { metrics }),
    simOperator: new StoredSimOperator(store.usage),
    clock: systemClock,
    logger,
  });
  await waitForStopSignal();
  await server.stop();
}

/** Loaded only if there are to be metrics, so that without them nothing is measured. */
async function createMetrics(config: Config, options: MetricsOptions): Promise<Metrics | undefined> {
  if (!config.metrics_listen) return undefined;
  const { Metrics: Loaded } = await import("./metrics/metrics.ts");
  return new Loaded(options);
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

const PERMISSIONS_MESSAGE = "permissions were taken from other users, who could read the data directory";

/** Reports corrected permissions on standard error. */
function reportPermissionChanges({ permissionChanges }: DataDir): void {
  if (permissionChanges.length === 0) return;
  process.stderr.write(
    `edge-control: ${PERMISSIONS_MESSAGE}: ${describePermissionChanges(permissionChanges).join(", ")}\n`,
  );
}

/** A command never creates a database: in a wrong directory it would be a second one, which no server uses. */
function requireDataDir(path: string): DataDir {
  const dataDir = findDataDir(path);
  if (!dataDir) {
    throw new CommandError(
      `there is no database in ${resolve(path)}: give the same --data-dir, --config or ${DATA_DIR_VARIABLE} as to ` +
        "`edge-control serve`, which creates the database",
    );
  }
  reportPermissionChanges(dataDir);
  return dataDir;
}

async function restoreDataDir(path: string, file: string, isNamed: boolean): Promise<string | undefined> {
  const dataDir = isNamed ? prepareDataDir(path) : requireDataDir(path);
  if (isNamed) reportPermissionChanges(dataDir);
  using lock = tryLock(dataDir.lock);
  if (!lock) throw new CommandError(`an edge-control serves ${path}; stop it before restoring`);
  const now = new Date(systemClock.now()).toISOString().replaceAll(":", "-");
  return restore(file, dataDir.database, `.replaced-${now}`);
}

// Files created here contain hashes of keys and deployed specifications.
process.umask(0o077);
const context: CliContext = {
  openStore: (path) => openStore(requireDataDir(path).database),
  serve,
  backup: (path, file) => backup(requireDataDir(path).database, file),
  restore: restoreDataDir,
  clock: systemClock,
  stdout: process.stdout,
};
process.exitCode = await run(process.argv.slice(2), context, process.stderr);
