import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunningCommand } from "./command.ts";
import { run, start } from "./command.ts";
import { engineRequest } from "./images/load-image.ts";
import { createBridge } from "./private-engine/bridge.ts";
import { isAlive, killProcessesOf, unmountBelow } from "./private-engine/leftovers.ts";
import { wrapperRuntime } from "./runtime/wrapper-runtime.ts";
import { tempDir } from "./temp-dir.ts";
import { waitFor } from "./wait-for.ts";

export interface PrivateEngineOptions {
  /** Where images and containers are kept. Default: a directory of its own. The caller removes it. */
  readonly dataRoot?: string;
  /** Folders with the programs of another Docker than the machine's. What is not there is taken from the machine. */
  readonly programs?: readonly string[];
  /** What the engine keeps images in. Default: what its version does by itself. */
  readonly imageStore?: "classic" | "containerd";
}

/** Why no Docker engine of a test's own can be started here; `undefined` where one can. */
export async function privateEngineUnavailableReason(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "a Docker engine of its own needs root";
  for (const [command, ...args] of [
    ["dockerd", "--version"],
    ["runc", "--version"],
    ["ip", "-V"],
  ] as const) {
    const outcome = await run(command, args).catch(() => undefined);
    if (outcome?.code !== 0) return `${command} is not installed`;
  }
  return undefined;
}

/**
 * A Docker engine of the test's own beside the one of the machine, to be stopped, killed and started again. Privileged
 * containers work in it also where the machine's do not. Ports are published by Docker's proxy alone: two engines must
 * not share the rules of the packet filter. Disposing it leaves no process, mount or file behind.
 */
export class PrivateEngine implements AsyncDisposable {
  readonly socketPath: string;
  /** This machine's address as its containers see it. */
  readonly hostAddress: string;
  readonly #directory: string;
  readonly #programs: readonly string[];
  #dataRoot: string;
  readonly #owned: AsyncDisposableStack;
  #process: RunningCommand | undefined;

  private constructor(parts: PrivateEngineParts, owned: AsyncDisposableStack) {
    this.hostAddress = parts.hostAddress;
    this.socketPath = join(parts.directory, "docker.sock");
    this.#directory = parts.directory;
    this.#programs = parts.programs;
    this.#dataRoot = parts.dataRoot;
    this.#owned = owned;
  }

  /** Starts an engine and waits until it answers. */
  static async start(options: PrivateEngineOptions = {}): Promise<PrivateEngine> {
    await using undo = new AsyncDisposableStack();
    const { path: directory } = undo.use(await tempDir());
    const { dataRoot = join(directory, "data"), programs = [], imageStore } = options;
    const bridge = undo.use(await createBridge());
    const features = imageStore && { features: { "containerd-snapshotter": imageStore === "containerd" } };
    const config = { ...(await daemonConfig(directory, dataRoot, bridge.name)), ...features };
    await writeFile(join(directory, "daemon.json"), JSON.stringify(config));
    const engine = new PrivateEngine({ directory, dataRoot, programs, hostAddress: bridge.address }, undo.move());
    try {
      await engine.start();
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
    return engine;
  }

  /** Process id of the daemon; `undefined` while it is down. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Where images and containers are kept. */
  get dataRoot(): string {
    return this.#dataRoot;
  }

  /** Starts the daemon after `stop`, `kill` or `powerOff`, and waits until it answers. */
  async start(): Promise<void> {
    const args = ["--config-file", join(this.#directory, "daemon.json")];
    // Docker finds its containerd, the proxy of its ports and others by the path.
    const env = { PATH: [...this.#programs, process.env["PATH"]].join(":") };
    const daemon = start("dockerd", args, { env });
    this.#process = daemon;
    await daemon.waitUntil(
      "answering",
      async () => (await engineRequest(this.socketPath, "GET", "/_ping").catch(() => undefined))?.status === 200,
      60_000,
    );
  }

  /** Ends the daemon in good order; its containers end too. */
  async stop(): Promise<void> {
    this.#process?.kill("SIGTERM");
    await this.#process?.exited;
    this.#process = undefined;
  }

  /** Puts another engine in its place, at the same socket and with nothing on it. After `stop`; `start` starts it. */
  async replace(): Promise<void> {
    await unmountBelow(this.#directory, this.#dataRoot);
    const file = join(this.#directory, "daemon.json");
    const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    this.#dataRoot = `${this.#dataRoot}-other`;
    await writeFile(file, JSON.stringify({ ...config, "data-root": this.#dataRoot }));
  }

  /**
   * Kills the daemon alone, as the kernel does when memory runs out. Its containers go on, without published ports.
   * Docker 20.10 ends them when it is started again, and takes that for the user's wish: they stay down.
   */
  async kill(): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    this.#process = undefined;
    // The daemon's containerd dies with it. A new daemon that comes upon its file too early would wait for it in vain.
    const pidFile = join(this.#execRoot, "containerd", "containerd.pid");
    const pid = Number(await readFile(pidFile, "utf8").catch(() => "0"));
    if (pid > 0) await waitFor("containerd to end", async () => !(await isAlive(pid)));
    await rm(pidFile, { force: true });
  }

  /** Kills the daemon, its helpers and every container at once, as a loss of power does, and empties what is in memory. */
  async powerOff(): Promise<void> {
    await this.kill();
    await killProcessesOf(this.#directory);
    await unmountBelow(this.#directory, this.#dataRoot);
    await rm(this.#execRoot, { recursive: true, force: true });
    await rm(join(this.#directory, "docker.pid"), { force: true });
  }

  get #execRoot(): string {
    return join(this.#directory, "exec");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.powerOff();
    await this.#owned.disposeAsync();
  }
}

interface PrivateEngineParts {
  readonly directory: string;
  readonly dataRoot: string;
  readonly programs: readonly string[];
  readonly hostAddress: string;
}

async function daemonConfig(directory: string, dataRoot: string, bridge: string): Promise<Record<string, unknown>> {
  return {
    hosts: [`unix://${join(directory, "docker.sock")}`],
    pidfile: join(directory, "docker.pid"),
    "exec-root": join(directory, "exec"),
    "data-root": dataRoot,
    bridge,
    iptables: false,
    ip6tables: false,
    "ip-masq": false,
    "ip-forward": false,
    runtimes: { test: { path: await wrapperRuntime(directory) } },
    "default-runtime": "test",
  };
}
