import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { createLogger } from "../lib/logger.ts";
import { describePermissionChanges } from "../lib/file-permissions.ts";
import { type CliContext, CommandError } from "./cli/context.ts";
import { run } from "./cli/run.ts";
import type { Config } from "./config.ts";
import { backup } from "./data/backup.ts";
import { type DataDir, prepareDataDir } from "./data/data-dir.ts";
import { scrubDatabase } from "./data/scrub-database.ts";
import { restore } from "./data/restore.ts";
import { openStore } from "./store/sqlite/open-store.ts";
import type { Store } from "./store/store.ts";

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
  const server = await startServer({
    config,
    store,
    bus: new InProcessBus(),
    simOperator: new StoredSimOperator(store.usage),
    clock: systemClock,
    logger,
  });
  await waitForStopSignal();
  await server.stop();
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

/** Prepares the data directory for a command. Reports corrected permissions on standard error. */
function prepareDataDirForCommand(path: string): DataDir {
  const dataDir = prepareDataDir(path);
  if (dataDir.permissionChanges.length > 0) {
    process.stderr.write(
      `edge-control: ${PERMISSIONS_MESSAGE}: ${describePermissionChanges(dataDir.permissionChanges).join(", ")}\n`,
    );
  }
  return dataDir;
}

function openDataDir(path: string): Store {
  return openStore(prepareDataDirForCommand(path).database);
}

async function restoreDataDir(path: string, file: string): Promise<string | undefined> {
  const { database, lock: lockFile } = prepareDataDirForCommand(path);
  using lock = tryLock(lockFile);
  if (!lock) throw new CommandError(`an edge-control serves ${path}; stop it before restoring`);
  const now = new Date(systemClock.now()).toISOString().replaceAll(":", "-");
  return restore(file, database, `.replaced-${now}`);
}

// Files created here contain hashes of keys and deployed specifications.
process.umask(0o077);
const context: CliContext = {
  openStore: openDataDir,
  serve,
  backup: (path, file) => backup(prepareDataDirForCommand(path).database, file),
  restore: restoreDataDir,
  clock: systemClock,
  stdout: process.stdout,
};
process.exitCode = await run(process.argv.slice(2), context, process.stderr);
