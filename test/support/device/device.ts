import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, succeed } from "../command.ts";
import { uniqueName } from "../images.ts";
import { tempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

/** Process 1 of a device that does not boot, instead of systemd. */
const NOTHING = ["sleep", "infinity"];
const NETWORK = "bridge";
/** Where engines keep images: overlayfs, the device's own file system, can hold no other. */
const ENGINE_DATA = ["--volume=/var/lib/docker", "--volume=/var/lib/containers"];
const NAMESPACES = ["--mount", "--uts", "--ipc", "--net", "--pid"];
const ENVIRONMENT = ["HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"];

interface DeviceOptions {
  readonly engineSocket: string;
  readonly image: string;
  /** Registries that its engine uses without TLS, as `host:port`. */
  readonly insecureRegistries: readonly string[];
}

interface EmptyDeviceOptions {
  readonly engineSocket: string;
  readonly image: string;
  readonly shared: string;
}

/**
 * A simulated device: a container with systemd as process 1, its own container engine, and an address in a private
 * network. Disposing it leaves nothing behind.
 */
export class Device implements AsyncDisposable {
  readonly name: string;
  readonly #engineSocket: string;
  /** On this machine, of its process 1; empty before its first start. */
  #pid = "";

  private constructor(name: string, engineSocket: string) {
    this.name = name;
    this.#engineSocket = engineSocket;
  }

  /**
   * Starts a device without systemd, with a directory of this machine at `/shared`. Also works for an emulated
   * processor.
   */
  static async startEmpty({ engineSocket, image, shared }: EmptyDeviceOptions): Promise<Device> {
    const device = new Device(uniqueName("device"), engineSocket);
    await device.#docker("run", "--detach", "--name", device.name, "--volume", `${shared}:/shared`, image, ...NOTHING);
    device.#pid = await device.#inspect("{{.State.Pid}}");
    return device;
  }

  /** Starts a device and waits until it has booted. */
  static async start({ engineSocket, image, insecureRegistries }: DeviceOptions): Promise<Device> {
    const device = new Device(uniqueName("device"), engineSocket);
    const memory = ["--tmpfs=/run", "--tmpfs=/run/lock", "--tmpfs=/tmp"];
    const options = ["--privileged", "--stop-signal=SIGRTMIN+3", ...ENGINE_DATA, ...memory];
    const names = ["--name", device.name, "--hostname", "gateway"];
    try {
      await device.#docker("create", ...options, ...names, image, "/sbin/init");
      if (insecureRegistries.length > 0)
        await device.write("/etc/docker/daemon.json", JSON.stringify({ "insecure-registries": insecureRegistries }));
      await device.boot();
    } catch (error) {
      await device[Symbol.asyncDispose]();
      throw error;
    }
    return device;
  }

  /** Powers it on and waits until it has booted, even if some units failed. */
  async boot(): Promise<void> {
    await this.#docker("start", this.name);
    this.#pid = await this.#inspect("{{.State.Pid}}");
    const isUp = async (): Promise<boolean> => {
      const { stdout } = await this.run("systemctl is-system-running");
      return /^(running|degraded)$/.test(stdout.trim());
    };
    await waitFor(`${this.name} to boot`, isUp, { intervalMs: 200 });
  }

  /** Shuts it down gracefully and powers it on again. */
  async reboot(): Promise<void> {
    await this.shutDown("reboot");
    await this.boot();
  }

  /** Shuts it down gracefully. */
  async shutDown(command: "poweroff" | "reboot" = "poweroff"): Promise<void> {
    await this.run(`systemctl ${command}`);
    const isOff = async (): Promise<boolean> => (await this.#inspect("{{.State.Running}}")) === "false";
    await waitFor(`${this.name} to shut down`, isOff);
  }

  /** Disconnects it from the network, also over a reboot. */
  async cutLink(): Promise<void> {
    await this.#docker("network", "disconnect", NETWORK, this.name);
  }

  /** Reconnects it to the network; its address may change. */
  async restoreLink(): Promise<void> {
    await this.#docker("network", "connect", NETWORK, this.name);
  }

  /** Its address in the private network. */
  async address(): Promise<string> {
    return await this.#inspect("{{.NetworkSettings.IPAddress}}");
  }

  /** Socket path of the device's engine on this machine. */
  get engineSocket(): string {
    const run = `/proc/${this.#pid}/root/run`;
    const podman = `${run}/podman/podman.sock`;
    return existsSync(podman) ? podman : `${run}/docker.sock`;
  }

  /** Runs a shell command on it as root. A non-zero exit code is no error. Ten times as fast as `docker exec`. */
  async run(command: string, input?: string): ReturnType<typeof run> {
    const args = ["nsenter", "--target", this.#pid, ...NAMESPACES, "env", "--ignore-environment", ...ENVIRONMENT];
    const options = { ...(input !== undefined && { input }) };
    // In a session of its own: `kill 0` on the device does not reach the test.
    return await run("setsid", [...args, "bash", "-c", command], options);
  }

  /** Runs a shell command on it and returns its standard output. Rejects unless it exits with 0. */
  async succeed(command: string, input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, input);
    if (code === 0) return stdout;
    throw new Error(`on the device, ${command} ended with ${code}\n${stdout}${stderr}`);
  }

  /** Copies a file of this machine to the device. */
  async copy(path: string, to: string): Promise<void> {
    await this.#docker("cp", path, `${this.name}:${to}`);
  }

  /** Writes a file on the device, whether it is booted or not. */
  async write(path: string, content: string): Promise<void> {
    await using folder = await tempDir();
    const file = join(folder.path, "file");
    await writeFile(file, content);
    await this.copy(file, path);
  }

  /** Waits until a shell command on the device succeeds and returns its output. */
  async until(command: string): Promise<string> {
    const look = async (): Promise<string> => (await this.succeed(command)) || " ";
    return await waitFor(`${command} on ${this.name}`, look, { intervalMs: 250 });
  }

  /**
   * Waits until the journal has a text, and returns what it has: journald takes lines when it has time, perhaps after what they
   * report has been seen elsewhere.
   *
   * @param options those of `journalctl`, besides `-o cat --quiet`
   */
  async journal(options: string, text: string): Promise<string> {
    return await waitFor(`${text} in the journal of ${this.name}`, async () => {
      const lines = await this.succeed(`journalctl -o cat --quiet ${options}`);
      return lines.includes(text) && lines;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#docker("rm", "--force", "--volumes", this.name);
  }

  async #inspect(format: string): Promise<string> {
    return (await this.#docker("inspect", "--format", format, this.name)).trim();
  }

  async #docker(...args: readonly string[]): Promise<string> {
    return await succeed("docker", ["--host", `unix://${this.#engineSocket}`, ...args]);
  }
}
