import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { createLogger } from "../lib/logger.ts";
import { describeMended } from "../lib/private-files.ts";
import { type CliContext, CommandError } from "./cli/context.ts";
import { run } from "./cli/run.ts";
import type { Config } from "./config.ts";
import { backup } from "./data/backup.ts";
import { type DataDir, dataDir } from "./data/data-dir.ts";
import { scrubDatabase } from "./data/scrub-database.ts";
import { restore } from "./data/restore.ts";
import { openStore } from "./store/sqlite/open-store.ts";
import type { Store } from "./store/store.ts";

/** The composition root: the only place that names concrete implementations. */
async function serve(config: Config): Promise<void> {
  const { database, lock: lockFile, mended } = dataDir(config.data_dir);
  using lock = tryLock(lockFile);
  if (!lock) {
    throw new CommandError(`another edge-control serves ${config.data_dir}; stop it, or choose another --data-dir`);
  }
  // Only here: what serves takes longer to load than an administration command to do its work.
  const [{ startServer }, { InProcessBus }, { StoredSimOperator }] = await Promise.all([
    import("./server.ts"),
    import("./bus/in-process-bus.ts"),
    import("./sim-operator/stored-sim-operator.ts"),
  ]);
  const logger = await createLogger({ name: "edge-control", level: config.log_level, background: true });
  if (mended.length > 0) logger.warn({ mended: describeMended(mended) }, OPENED);
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
  await untilSignal();
  await server.stop();
}

/** Resolves on SIGTERM or SIGINT. A second one ends the process at once, as usual. */
function untilSignal(): Promise<void> {
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

const OPENED = "permissions were taken from other users, who could read the data directory";

/** The places in a data directory, for one command. Says on standard error what other users could do there. */
function administered(path: string): DataDir {
  const found = dataDir(path);
  if (found.mended.length > 0) {
    process.stderr.write(`edge-control: ${OPENED}: ${describeMended(found.mended).join(", ")}\n`);
  }
  return found;
}

function openIn(path: string): Store {
  return openStore(administered(path).database);
}

async function restoreIn(path: string, file: string): Promise<string | undefined> {
  const { database, lock: lockFile } = administered(path);
  using lock = tryLock(lockFile);
  if (!lock) throw new CommandError(`an edge-control serves ${path}; stop it before restoring`);
  const now = new Date(systemClock.now()).toISOString().replaceAll(":", "-");
  return restore(file, database, `.replaced-${now}`);
}

// Whatever is created here holds hashes of keys, and what clients deploy.
process.umask(0o077);
const context: CliContext = {
  openStore: openIn,
  serve,
  backup: (path, file) => backup(administered(path).database, file),
  restore: restoreIn,
  clock: systemClock,
  stdout: process.stdout,
};
process.exitCode = await run(process.argv.slice(2), context, process.stderr);
