import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { createLogger } from "../lib/logger.ts";
import { InProcessBus } from "./bus/in-process-bus.ts";
import { CommandError } from "./cli/context.ts";
import { run } from "./cli/run.ts";
import type { Config } from "./config.ts";
import { startServer } from "./server.ts";
import { StoredSimOperator } from "./sim-operator/stored-sim-operator.ts";
import { openStore } from "./store/sqlite/open-store.ts";
import type { Store } from "./store/store.ts";

/** The composition root: the only place that names concrete implementations. */
async function serve(config: Config): Promise<void> {
  makePrivate(config.data_dir);
  using lock = tryLock(join(config.data_dir, "server.lock"));
  if (!lock)
    throw new CommandError(`another edge-control serves ${config.data_dir}; stop it, or choose another --data-dir`);
  const logger = await createLogger({ name: "edge-control", level: config.log_level });
  await using store = openIn(config.data_dir);
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

function openIn(dataDir: string): Store {
  makePrivate(dataDir);
  return openStore(join(dataDir, "edge-control.sqlite"));
}

/** Everything in the data directory is for the server's own user. */
function makePrivate(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
}

const context = { openStore: openIn, serve, clock: systemClock, stdout: process.stdout };
process.exitCode = await run(process.argv.slice(2), context, process.stderr);
