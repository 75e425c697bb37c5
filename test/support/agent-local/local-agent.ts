import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, type RunningCommand, start } from "../command.ts";
import { tempDir } from "../temp-dir.ts";

const MAIN = "src/agent/main.ts";

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

  /** Runs a command until it exits. */
  command(...args: readonly string[]): Promise<Outcome> {
    return this.#run(args, {});
  }

  /** Starts a long-running command; the caller kills it. */
  follow(...args: readonly string[]): RunningCommand {
    return this.#owned.use(start(process.execPath, [MAIN, ...args, "--config", this.configPath]));
  }

  /** Returns the `--json` output of a command. @param env added to its environment */
  async json<T = Record<string, unknown>>(command: string, env: Environment = {}): Promise<T> {
    const { stdout, stderr } = await this.#run([...command.split(" "), "--json"], env);
    if (stdout === "") throw new Error(`no output: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #run(args: readonly string[], env: Environment): Promise<Outcome> {
    const plain = { NO_COLOR: "1", LANG: "C.UTF-8", ...env };
    return run(process.execPath, [MAIN, ...args, "--config", this.configPath], { env: plain });
  }
}
