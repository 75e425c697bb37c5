import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommanderError } from "commander";
import { addLocalCommands } from "../../../src/agent/cli/commands.ts";
import { EXIT } from "../../../src/agent/cli/exit-code.ts";
import { processIo } from "../../../src/agent/cli/main.ts";
import { createProgram } from "../../../src/agent/program.ts";
import { run, type RunningCommand, start } from "../command.ts";
import { MemoryOutput } from "../edgectl/memory-output.ts";
import { tempDir } from "../temp-dir.ts";

const MAIN = "src/agent/main.ts";
/** Output without colours. */
const PLAIN = { NO_COLOR: "1", LANG: "C.UTF-8" };

interface DeviceOptions {
  /** URL of the control plane. Default: a port where nothing listens. */
  readonly url?: string;
  readonly token?: string;
  /** Further keys of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export const DEVICE_TOKEN = "ed_planted-device-token-0123456789abcdefABCDEF";

/** A configuration directory, the daemon as a process, and the commands of the local CLI. */
export class LocalAgent implements AsyncDisposable {
  readonly directory: string;
  readonly configPath: string;
  readonly #owned = new AsyncDisposableStack();
  #daemon: RunningCommand | undefined;

  private constructor(directory: string) {
    this.directory = directory;
    this.configPath = join(directory, "config.json");
  }

  static async create(options: DeviceOptions = {}): Promise<LocalAgent> {
    const directory = await tempDir();
    const device = new LocalAgent(directory.path);
    device.#owned.use(directory);
    await device.configure(options);
    return device;
  }

  get stateDir(): string {
    return join(this.directory, "state");
  }

  get socketPath(): string {
    return join(this.directory, "agent.sock");
  }

  async configure({ url, token, config }: DeviceOptions): Promise<void> {
    const content = {
      control_plane_url: url ?? "ws://127.0.0.1:9/v1/agent",
      device_token: token ?? DEVICE_TOKEN,
      state_dir: this.stateDir,
      // Short enough for a socket path with any temporary directory.
      local: { socket: this.socketPath },
      engine: { socket: join(this.directory, "no-engine.sock") },
      ...config,
    };
    await writeFile(this.configPath, JSON.stringify(content), { mode: 0o600 });
  }

  /** Starts the daemon and waits until it accepts commands. @param env added to its environment */
  async start(env: Environment = {}): Promise<RunningCommand> {
    const daemon = start(process.execPath, [MAIN, "run", "--config", this.configPath], { env });
    this.#owned.use(daemon);
    this.#daemon = daemon;
    await daemon.waitForOutput("edge-agent starts");
    return daemon;
  }

  /** Kills the daemon, whose socket file stays behind. */
  async kill(): Promise<void> {
    this.#daemon?.kill("SIGKILL");
    await this.#daemon?.exited;
  }

  /** Runs a command to its end, in this process: one of its own takes longer to start than most commands to run. */
  async command(...args: readonly string[]): Promise<Outcome> {
    const [stdout, stderr] = [new MemoryOutput(), new MemoryOutput()];
    const io = { ...processIo(), stdout, stderr, env: { ...process.env, ...PLAIN } };
    const program = createProgram()
      .exitOverride()
      .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
    let code: number = EXIT.ok;
    await addLocalCommands(program, io, args[0], (exitCode) => (code = exitCode));
    try {
      await program.parseAsync([...args, "--config", this.configPath], { from: "user" });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      code = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    }
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  /** Starts a long-running command; the caller kills it. */
  follow(...args: readonly string[]): RunningCommand {
    return this.#owned.use(start(process.execPath, [MAIN, ...args, "--config", this.configPath]));
  }

  /** Returns the `--json` output of a command. @param env added to its environment */
  async json<T = Record<string, unknown>>(command: string, env: Environment = {}): Promise<T> {
    const args = [...command.split(" "), "--json"];
    const { stdout, stderr } = await (Object.keys(env).length > 0 ? this.#run(args, env) : this.command(...args));
    if (stdout === "") throw new Error(`no output: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  /** Runs a command as a process with this environment. */
  #run(args: readonly string[], env: Environment): Promise<Outcome> {
    return run(process.execPath, [MAIN, ...args, "--config", this.configPath], { env: { ...PLAIN, ...env } });
  }
}
