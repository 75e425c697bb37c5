import type { Command } from "commander";
import { type Context, createContext, type Register, toCommandError } from "./context.ts";
import { EXIT, EXIT_CODE_HELP, type ExitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { AgentPrinter } from "./printer.ts";

/** The commands by name, loaded on demand. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command, register: Register) => void>>> = {
  status: async () => (await import("./status.ts")).addStatus,
  apps: async () => (await import("./apps.ts")).addApps,
  top: async () => (await import("./top.ts")).addTop,
  stats: async () => (await import("./stats.ts")).addStats,
  app: async () => (await import("./app.ts")).addApp,
  logs: async () => (await import("./logs.ts")).addLogs,
  events: async () => (await import("./events.ts")).addEvents,
  deploy: async () => (await import("./deploy.ts")).addDeploy,
  apply: async () => (await import("./apply.ts")).addApply,
  update: async () => (await import("./update.ts")).addUpdate,
  restart: async () => (await import("./change.ts")).addRestart,
  stop: async () => (await import("./change.ts")).addStop,
  start: async () => (await import("./change.ts")).addStart,
  remove: async () => (await import("./change.ts")).addRemove,
  volumes: async () => (await import("./volumes.ts")).addVolumes,
  cleanup: async () => (await import("./cleanup.ts")).addCleanup,
  doctor: async () => (await import("./doctor.ts")).addDoctor,
  "support-bundle": async () => (await import("./support-bundle.ts")).addSupportBundle,
  releases: async () => (await import("./releases.ts")).addReleases,
  pin: async () => (await import("./releases.ts")).addPin,
  enroll: async () => (await import("./enroll.ts")).addEnroll,
  config: async () => (await import("./config.ts")).addConfig,
};

type BaseIo = Omit<Io, "interrupted">;

/**
 * Adds the interactive commands.
 *
 * @param wanted the command on the command line, which alone is loaded; all are, for the help, if it is unknown or
 *   missing
 * @param exit called with the exit code of the command
 */
export async function addLocalCommands(
  program: Command,
  io: BaseIo,
  wanted: string | undefined,
  exit: (code: ExitCode) => void,
): Promise<void> {
  program.addHelpText("after", `\n${EXIT_CODE_HELP}`);
  const register: Register = (command, action) => {
    command.action(async (...args: unknown[]) => {
      const argument = typeof args[0] === "string" ? args[0] : undefined;
      const options = command.opts<{ config: string; socket?: string; json?: boolean }>();
      exit(await perform(io, options, (context) => action(context, argument, options)));
    });
  };
  const isKnown = wanted !== undefined && Object.hasOwn(COMMANDS, wanted);
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (!isKnown || name === wanted) (await load())(program, register);
  }
}

async function perform(
  baseIo: BaseIo,
  options: { readonly config: string; readonly socket?: string; readonly json?: boolean },
  action: (context: Context) => Promise<ExitCode>,
): Promise<ExitCode> {
  using interruption = onInterrupt();
  const io: Io = { ...baseIo, interrupted: interruption.signal };
  try {
    const exitCode = await action(createContext(io, options));
    return io.interrupted.aborted ? EXIT.interrupted : exitCode;
  } catch (error) {
    if (io.interrupted.aborted) return EXIT.interrupted;
    const { message, hint, exitCode } = toCommandError(error);
    new AgentPrinter(io, options.json ?? false).failure(message, hint, exitCode);
    return exitCode;
  }
}

/** Returns a signal that aborts at Ctrl-C, until disposed. A second Ctrl-C ends the process at once, as usual. */
function onInterrupt(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(new DOMException("interrupted", "AbortError"));
  process.once("SIGINT", interrupt);
  return { signal: controller.signal, [Symbol.dispose]: () => void process.off("SIGINT", interrupt) };
}
