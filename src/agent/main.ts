import { join } from "node:path";
import { mkdirSync, readFileSync } from "node:fs";
import { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { tryLock } from "../lib/instance-lock.ts";
import { type Logger, createLogger } from "../lib/logger.ts";
import { remember } from "../lib/remember.ts";
import { Semaphore } from "../lib/semaphore.ts";
import { VERSION } from "../lib/version.ts";
import { checkConfig, showConfig } from "./cli/config.ts";
import { EXIT } from "./cli/exit-code.ts";
import { fail } from "./cli/fail.ts";
import { untilStopped } from "./cli/until-stopped.ts";
import { DEFAULT_CONFIG } from "./config/default-path.ts";
import { type Config, loadConfig } from "./config/load.ts";
import { toDeployConfig, toLinkConfig } from "./config/settings.ts";
import { createDockerEngine } from "./engine/docker/docker-engine.ts";
import { createSocketFinder } from "./engine/find-socket.ts";
import { createLinuxHost } from "./host/linux-host.ts";
import { createUplink } from "./link/uplink.ts";
import { linkWatch } from "./local/link-watch.ts";
import { localRoutes } from "./local/local-routes.ts";
import { LogRing } from "./local/log-ring.ts";
import { serveLocally } from "./local/server.ts";
import { localSocketPath } from "./local/socket-path.ts";
import type { DeployServices } from "./steps/context.ts";
import { Deployments } from "./steps/deployments.ts";
import { Keeper } from "./steps/keeper.ts";
import { NotifyingStore } from "./store/notifying-store.ts";
import { openSqliteReader } from "./store/sqlite-store.ts";
import { openStore } from "./store/open-store.ts";

const DATA_ROOT_SERVES_MS = 600_000;

const program = new Command("edge-agent")
  .description("Runs containerised apps on this device, as the control plane asks.")
  .version(VERSION)
  .showHelpAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

const configOption = ["-c, --config <file>", "configuration file", DEFAULT_CONFIG] as const;

program
  .command("run")
  .description("run in the foreground until stopped by SIGTERM or SIGINT; the apps keep running")
  .option(...configOption)
  .action(async ({ config: path }: { config: string }) => {
    const config = loadConfig(path);
    const log = new LogRing();
    const tap = (line: string): void => log.write(line);
    const logger = await createLogger({ name: "edge-agent", level: config.log.level, tap, sumUpBursts: systemClock });
    await run(config, logger, log);
  });

const config = program.command("config").description("look at the configuration without running anything");
config
  .command("check")
  .description("say whether the configuration file can be used, and what is wrong with it")
  .option(...configOption)
  .action(({ config: path }: { config: string }) => checkConfig(path));
config
  .command("show")
  .description("print the configuration in force, defaults filled in and secrets masked")
  .option(...configOption)
  .action(({ config: path }: { config: string }) => showConfig(path));

// The daemon has no use for the commands of people, and memory is short.
if (process.argv[2] !== "run") {
  const { addLocalCommands } = await import("./cli/commands.ts");
  addLocalCommands(
    program,
    {
      stdout: process.stdout,
      stderr: process.stderr,
      env: process.env,
      clock: systemClock,
      host: createLinuxHost(),
      createEngine: ({ engine }) => createDockerEngine({ socketPath: engineSocket(engine), clock: systemClock }),
      openReader: (stateDir) =>
        openSqliteReader({ path: join(stateDir, "agent.db"), clock: systemClock, bootId: readBootId() }),
    },
    // At once: a look-up that hangs in the system would keep the process. Output to files and terminals is out by now.
    (code) => process.exit(code),
  );
}

function engineSocket({ socket }: Config["engine"]): () => string {
  return createSocketFinder({ configured: socket, environment: process.env });
}

/** The composition root: the only place that names concrete implementations. */
async function run(config: Config, logger: Logger, log: LogRing): Promise<void> {
  const clock = systemClock;
  mkdirSync(config.state_dir, { recursive: true, mode: 0o700 });
  using lock = tryLock(join(config.state_dir, "agent.lock"));
  if (!lock) throw new Error(`${config.state_dir} is in use by another edge-agent`);

  const opened = openStore({ directory: config.state_dir, clock, logger, bootId: readBootId() });
  using store = new NotifyingStore(opened.store);
  const engine = createDockerEngine({ socketPath: engineSocket(config.engine), clock });
  const services = {
    engine,
    host: createLinuxHost(),
    store,
    clock,
    random: Math.random,
    logger,
    config: toDeployConfig(config),
    dataRoot: remember(clock, DATA_ROOT_SERVES_MS, async (signal) => (await engine.info(signal)).dataRoot),
    pulls: new Semaphore(config.deploy.concurrent_pulls),
  } satisfies DeployServices;
  await using deployments = new Deployments(services);
  const keeper = new Keeper({ ...services, rebuild: opened.rebuild, hold: (app) => deployments.hold(app) });
  const uplink = createUplink({
    config: toLinkConfig(config),
    commands: deployments,
    events: store,
    clock,
    logger,
    agentVersion: VERSION,
  });

  await using _local = await serveLocally({
    path: localSocketPath(config),
    routes: localRoutes({
      services,
      deployments,
      link: () => uplink.status(),
      linkSince: linkWatch(uplink, clock),
      controlPlaneUrl: config.control_plane_url,
      log,
      version: VERSION,
    }),
    logger,
  });

  logger.info({ version: VERSION, config: config.path, state_dir: config.state_dir }, "edge-agent starts");
  deployments.resume();
  await untilStopped(logger, (signal) => Promise.all([uplink.run(signal), keeper.run(signal)]));
  logger.info("edge-agent stops; the apps keep running");
}

function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

try {
  await program.parseAsync();
} catch (error) {
  fail("edge-agent", error);
}
