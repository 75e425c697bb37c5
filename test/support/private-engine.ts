import { readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RunningCommand } from "./command.ts";
import { run, start, succeed } from "./command.ts";
import { engineRequest } from "./images/load-image.ts";
import { createBridge, removeBridgesIn } from "./private-engine/bridge.ts";
import { forwardPacketsIn } from "./private-engine/forward-packets.ts";
import { isAlive, killProcessesOf, unmountBelow } from "./private-engine/leftovers.ts";
import { uniqueNetwork } from "./private-engine/unique-network.ts";
import { wrapperRuntime } from "./runtime/wrapper-runtime.ts";
import { tempDir } from "./temp-dir.ts";
import { waitFor } from "./wait-for.ts";

export interface PrivateEngineOptions {
  /** The engine's data root. The caller removes it. Default: a temporary directory. */
  readonly dataRoot?: string;
  /** Directories with the programs of another Docker version. Missing programs are taken from the machine. */
  readonly programs?: readonly string[];
  /** Default: the engine version's own default. */
  readonly imageStore?: "classic" | "containerd";
  /** Whether containers reach each other. Default: that is left to the rules of the machine's engine. */
  readonly connectsContainers?: boolean;
  /** Control group of the containers, as an absolute path below the mount. Default: the engine's own. */
  readonly cgroupParent?: string;
  /**
   * Whether it has a network namespace of its own, with firewall rules that it manages as on a device. Then it reaches
   * nothing outside, and `inNetwork` runs commands there.
   */
  readonly ownNetwork?: boolean;
}

/** Returns why a private Docker engine cannot be started here; `undefined` if it can. */
export async function privateEngineUnavailableReason(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "a private Docker engine needs root";
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
 * A Docker engine beside the machine's that a test may stop, kill and restart. Privileged containers work in it even if
 * the machine's engine has none. Ports are published by Docker's proxy alone, since two engines must not share iptables
 * rules. Disposing it leaves no process, mount or file behind.
 */
export class PrivateEngine implements AsyncDisposable {
  readonly socketPath: string;
  /** This machine's address in the containers' network. */
  readonly hostAddress: string;
  readonly #directory: string;
  readonly #programs: readonly string[];
  readonly #pool: string;
  readonly #ownNetwork: boolean;
  #dataRoot: string;
  readonly #owned: AsyncDisposableStack;
  #process: RunningCommand | undefined;

  private constructor(parts: PrivateEngineParts, owned: AsyncDisposableStack) {
    this.hostAddress = parts.hostAddress;
    this.socketPath = join(parts.directory, "docker.sock");
    this.#directory = parts.directory;
    this.#programs = parts.programs;
    this.#pool = parts.pool;
    this.#ownNetwork = parts.ownNetwork;
    this.#dataRoot = parts.dataRoot;
    this.#owned = owned;
  }

  /** Starts an engine and waits until it responds. */
  static async start(options: PrivateEngineOptions = {}): Promise<PrivateEngine> {
    await using undo = new AsyncDisposableStack();
    const { path: directory } = undo.use(await tempDir());
    const { dataRoot = join(directory, "data"), programs = [], imageStore, ownNetwork = false } = options;
    const bridge = undo.use(await createBridge());
    const { pool, subnet } = await uniqueNetwork();
    if (options.connectsContainers === true) undo.use(await forwardPacketsIn(pool));
    const features = imageStore && { features: { "containerd-snapshotter": imageStore === "containerd" } };
    const parent = options.cgroupParent !== undefined && { "cgroup-parent": options.cgroupParent };
    const network = ownNetwork ? { bip: subnet.replace(".0/", ".1/") } : { ...SHARED_NETWORK, bridge: bridge.name };
    const config = { ...(await daemonConfig(directory, dataRoot)), ...network, ...features, ...parent };
    await writeFile(join(directory, "daemon.json"), JSON.stringify(config));
    const hostAddress = bridge.address;
    const engine = new PrivateEngine({ directory, dataRoot, programs, hostAddress, pool, ownNetwork }, undo.move());
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

  /** The directory that holds images and containers. */
  get dataRoot(): string {
    return this.#dataRoot;
  }

  /** Starts the daemon after `stop`, `kill` or `powerOff`, and waits until it responds. */
  async start(): Promise<void> {
    await this.#configureAddresses();
    const args = ["--config-file", join(this.#directory, "daemon.json")];
    // dockerd finds containerd, docker-proxy and others through PATH.
    const env = { PATH: [...this.#programs, process.env["PATH"]].join(":") };
    const daemon = this.#ownNetwork
      ? start("unshare", ["--net", "sh", "-c", 'ip link set lo up && exec dockerd "$@"', "dockerd", ...args], { env })
      : start("dockerd", args, { env });
    this.#process = daemon;
    await daemon.waitUntil(
      "a ping response",
      async () => (await engineRequest(this.socketPath, "GET", "/_ping").catch(() => undefined))?.status === 200,
      60_000,
    );
  }

  /** Stops the daemon gracefully, and its containers with it. */
  async stop(): Promise<void> {
    this.#process?.kill("SIGTERM");
    await this.#process?.exited;
    this.#process = undefined;
  }

  /** Runs a command in the network namespace of an engine with `ownNetwork`. */
  async inNetwork(command: string, ...args: readonly string[]): Promise<string> {
    return await succeed("nsenter", ["--target", String(this.pid), "--net", command, ...args]);
  }

  /** Removes every rule of the engine's firewall, as firewalls do that reload theirs. Needs `ownNetwork`. */
  async flushFirewall(): Promise<void> {
    for (const table of ["filter", "nat"]) {
      for (const option of ["-F", "-X"]) await this.inNetwork("iptables", "-t", table, option);
    }
  }

  /** Switches to an empty data root at the same socket. Must be called after `stop` and before `start`. */
  async replace(): Promise<void> {
    await unmountBelow(this.#directory, this.#dataRoot);
    const file = join(this.#directory, "daemon.json");
    const config = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    this.#dataRoot = `${this.#dataRoot}-other`;
    await writeFile(file, JSON.stringify({ ...config, "data-root": this.#dataRoot }));
  }

  /**
   * Kills the daemon alone, as the OOM killer does. Its containers keep running, without published ports. Docker 20.10
   * stops them when it starts again and counts that as a stop by the user: they stay down.
   */
  async kill(): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    this.#process = undefined;
    // The daemon's containerd dies with it. A new daemon that finds its pid file would wait for it.
    const pidFile = join(this.#execRoot, "containerd", "containerd.pid");
    const pid = Number(await readFile(pidFile, "utf8").catch(() => "0"));
    if (pid > 0) await waitFor("containerd to end", async () => !(await isAlive(pid)));
    await rm(pidFile, { force: true });
  }

  /** Kills the daemon, its helpers and every container, as a loss of power does, and removes its runtime files. */
  async powerOff(): Promise<void> {
    await this.kill();
    await killProcessesOf(this.#directory);
    await unmountBelow(this.#directory, this.#dataRoot);
    await rm(this.#execRoot, { recursive: true, force: true });
    await rm(join(this.#directory, "docker.pid"), { force: true });
    await removeBridgesIn(this.#pool);
  }

  /**
   * Gives the engine its address range as long as it has no networks yet. A Docker that has some, and such a range, deletes
   * the bridge `docker0` at its start, which is the one of the machine's own engine. Its networks keep their addresses.
   */
  async #configureAddresses(): Promise<void> {
    const file = join(this.#directory, "daemon.json");
    const { [POOLS]: _pools, ...config } = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
    const hasNetworks = existsSync(join(this.#dataRoot, "network", "files", "local-kv.db"));
    const pools = hasNetworks ? {} : { [POOLS]: [{ base: this.#pool, size: 24 }] };
    await writeFile(file, JSON.stringify({ ...config, ...pools }));
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
  /** Addresses of networks it creates. */
  readonly pool: string;
  readonly ownNetwork: boolean;
}

const SHARED_NETWORK = { iptables: false, ip6tables: false, "ip-masq": false, "ip-forward": false };

const POOLS = "default-address-pools";

async function daemonConfig(directory: string, dataRoot: string): Promise<Record<string, unknown>> {
  return {
    hosts: [`unix://${join(directory, "docker.sock")}`],
    pidfile: join(directory, "docker.pid"),
    "exec-root": join(directory, "exec"),
    "data-root": dataRoot,
    runtimes: { test: { path: await wrapperRuntime(directory) } },
    "default-runtime": "test",
  };
}
