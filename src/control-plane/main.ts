import { resolve } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { createLogger, type Logger } from "../lib/logger.ts";
import { describePermissionChanges } from "../lib/file-permissions.ts";
import type { Bus } from "./bus/bus.ts";
import type { MessageLink } from "./bus/message-link.ts";
import { type CliContext, CommandError } from "./cli/context.ts";
import { run } from "./cli/run.ts";
import { type Config, DATA_DIR_VARIABLE } from "./config.ts";
import { backup } from "./data/backup.ts";
import { type DataDir, findDataDir, prepareDataDir } from "./data/data-dir.ts";
import { scrubDatabase } from "./data/scrub-database.ts";
import { restore } from "./data/restore.ts";
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
  await using messages = await openMessages(config, logger);
  const server = await startServer({
    config,
    store,
    bus: messages?.bus ?? new InProcessBus(),
    link: messages?.link,
    simOperator: new StoredSimOperator(store.usage),
    clock: systemClock,
    logger,
  });
  await waitForStopSignal();
  await server.stop();
}

interface Messages extends AsyncDisposable {
  readonly bus: Bus;
  readonly link: MessageLink;
}

/** Opens what carries messages to other instances, if that is configured. Begins to connect, and does not wait for it. */
async function openMessages(config: Config, logger: Logger): Promise<Messages | undefined> {
  if (!Object.keys(config).some((key) => key.startsWith("nats_") && key !== "nats_prefix")) return undefined;
  const [{ natsOptionsOf }, { NatsLink }, { LinkedBus }] = await Promise.all([
    import("./bus/nats/configured.ts"),
    import("./bus/nats/nats-link.ts"),
    import("./bus/linked-bus.ts"),
  ]);
  try {
    const nats = natsOptionsOf(config);
    if (!nats) return undefined;
    const link = new NatsLink({ nats, clock: systemClock, logger });
    if (!link.isConfidential) logger.warn({ urls: nats.urls }, NOT_CONFIDENTIAL_MESSAGE);
    const bus = new LinkedBus(link);
    return {
      bus,
      link,
      async [Symbol.asyncDispose]() {
        bus[Symbol.dispose]();
        await link[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

const NOT_CONFIDENTIAL_MESSAGE =
  "the connection to NATS is not encrypted: instances do not pass credentials of registries to each other, and a deployment that needs them fails with RegistryAuthLost if its device is connected to another instance than its client. Use tls:// or nats_ca_file";

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
