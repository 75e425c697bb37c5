import { join } from "node:path";
import { type RunningCommand, start } from "../command.ts";
import { tempDir } from "../temp-dir.ts";

const MAIN = join(import.meta.dirname, "../../../src/edgectl/main.ts");

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** The real edgectl as a process, with its own configuration directory. */
export interface EdgectlUser extends AsyncDisposable {
  readonly configDirectory: string;
  run(args: readonly string[], options?: RunOptions): Promise<Outcome>;
  start(args: readonly string[], options?: RunOptions): RunningCommand;
}

export async function edgectlUser(): Promise<EdgectlUser> {
  const directory = await tempDir();
  const startIt = (args: readonly string[], options: RunOptions = {}): RunningCommand =>
    start(process.execPath, [MAIN, ...args], {
      env: {
        EDGECTL_URL: undefined,
        EDGECTL_API_KEY: undefined,
        NO_COLOR: undefined,
        FORCE_COLOR: undefined,
        LC_ALL: "C.UTF-8",
        ...options.env,
        XDG_CONFIG_HOME: directory.path,
      },
      ...(options.input !== undefined && { input: options.input }),
    });
  return {
    configDirectory: directory.path,
    start: startIt,
    async run(args, options) {
      await using command = startIt(args, options);
      const code = await command.exited;
      return { code, stdout: command.stdout(), stderr: command.stderr() };
    },
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}
