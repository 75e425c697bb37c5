import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { run } from "../../../src/edgectl/run.ts";
import { createInput } from "../../../src/edgectl/io.ts";
import { foregroundClock } from "../../../src/lib/clock.ts";
import { type RunningCommand, start } from "../command.ts";
import { tempDir } from "../temp-dir.ts";
import { MemoryOutput } from "./memory-output.ts";

const MAIN = join(import.meta.dirname, "../../../src/edgectl/main.ts");

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Sends the requests, in this process only. */
  readonly fetch?: typeof globalThis.fetch;
}

/** The real edgectl with its own configuration directory. */
export interface EdgectlUser extends AsyncDisposable {
  readonly configDirectory: string;
  /**
   * Runs a command to its end; without an executable in this process, since a process of its own takes longer to start than
   * most commands to run.
   */
  run(args: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** Starts a command as a process. */
  start(args: readonly string[], options?: RunOptions): RunningCommand;
}

/** @param executable path of a built edgectl, which every command then runs. Default: the sources, which need no build */
export async function edgectlUser(executable?: string): Promise<EdgectlUser> {
  const directory = await tempDir();
  const environment = (options: RunOptions) => ({
    EDGECTL_URL: undefined,
    EDGECTL_API_KEY: undefined,
    NO_COLOR: undefined,
    FORCE_COLOR: undefined,
    LC_ALL: "C.UTF-8",
    ...options.env,
    XDG_CONFIG_HOME: directory.path,
  });
  const startIt = (args: readonly string[], options: RunOptions = {}): RunningCommand => {
    const command =
      executable === undefined ? ([process.execPath, MAIN, ...args] as const) : ([executable, ...args] as const);
    return start(command[0], command.slice(1), {
      env: environment(options),
      ...(options.input !== undefined && { input: options.input }),
    });
  };
  return {
    configDirectory: directory.path,
    start: startIt,
    async run(args, options = {}) {
      if (executable !== undefined) {
        await using command = startIt(args, options);
        const code = await command.exited;
        return { code, stdout: command.stdout(), stderr: command.stderr() };
      }
      const [stdout, stderr] = [new MemoryOutput(), new MemoryOutput()];
      const interruption = new AbortController();
      const stdin = Readable.from([options.input ?? ""]);
      const code = await run(args, {
        stdin: createInput(stdin, stderr, () => interruption.abort(), interruption.signal),
        stdout,
        stderr,
        env: { ...process.env, ...environment(options) },
        homeDirectory: directory.path,
        fetch: options.fetch ?? globalThis.fetch,
        clock: foregroundClock,
        random: Math.random,
        randomId: randomUUID,
        interrupted: interruption.signal,
      });
      return { code, stdout: stdout.text, stderr: stderr.text };
    },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}
