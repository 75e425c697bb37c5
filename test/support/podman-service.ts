import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { run, start } from "./command.ts";
import { engineRequest } from "./images/load-image.ts";
import { wrapperRuntime } from "./runtime/wrapper-runtime.ts";
import { uniqueNetwork } from "./private-engine/unique-network.ts";
import { tempDir } from "./temp-dir.ts";

/** A separate Podman for one test. Disposing it removes everything it made. */
export interface PodmanService extends AsyncDisposable {
  readonly socketPath: string;
  /** Holds a file NAME.json for each network. */
  readonly networkDirectory: string;
  /**
   * Has the kernel announce new hardware addresses of the bridges that there are, as docs/install.md says for all bridges
   * of a device. Without that, containers that are there lose the name service for a while when others start and stop.
   */
  announceBridges(): Promise<void>;
}

// Podman must be told that loopback registries have no TLS. Its default limits of open files and processes are above
// what a container gets without CAP_SYS_RESOURCE.
const REGISTRIES = '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n';
const containersConf = async (runtime: string, directory: string): Promise<string> => `
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "${runtime}"
${await networkConf(directory)}`;

/**
 * Networks with a name service. Every Podman of the machine shares the name service and the record of addresses, by the
 * name of the network: the default network needs a name of its own, and its own addresses. Its bridge has a name of its own,
 * too: that of all others is `podman0`, and the Podman whose last container ends removes it from under the others.
 */
async function networkConf(directory: string): Promise<string> {
  const { name, subnet, pool } = await uniqueNetwork();
  const network = {
    name,
    id: createHash("sha256").update(name).digest("hex"),
    driver: "bridge",
    network_interface: name,
    created: "2026-01-01T00:00:00Z",
    subnets: [{ subnet, gateway: subnet.replace(/0\/24$/, "1") }],
    ipv6_enabled: false,
    internal: false,
    dns_enabled: false,
    ipam_options: { driver: "host-local" },
  };
  await mkdir(join(directory, "networks"));
  await writeFile(join(directory, "networks", `${name}.json`), JSON.stringify(network));
  return `
[network]
network_backend = "netavark"
network_config_dir = "${join(directory, "networks")}"
default_network = "${name}"
default_subnet = "${subnet}"
default_subnet_pools = [{"base" = "${pool}", "size" = 24}]
`;
}

/** Where Podman looks for it. */
const HELPERS = ["/usr/libexec/podman", "/usr/lib/podman", "/usr/local/lib/podman", "/usr/local/libexec/podman"];

/** Returns why Podman cannot be started here; `undefined` if it can. */
export async function podmanUnavailableReason(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "a separate Podman needs root";
  const version = await run("podman", ["--version"]).catch(() => undefined);
  if (version?.code !== 0) return "podman is not installed";
  const isServed = HELPERS.some((directory) => existsSync(join(directory, "netavark")));
  return isServed ? undefined : "netavark, which gives Podman's containers their networks, is not installed";
}

/** Starts `podman system service` with its own storage, settings and socket. Needs root and Debian's package podman. */
export async function startPodman(): Promise<PodmanService> {
  const directory = await tempDir();
  const at = (name: string): string => join(directory.path, name);
  await writeFile(at("registries.conf"), REGISTRIES);
  await writeFile(at("containers.conf"), await containersConf(await wrapperRuntime(directory.path), directory.path));
  await mkdir(at("downloads"));
  const env = {
    TMPDIR: at("downloads"),
    CONTAINERS_CONF: at("containers.conf"),
    CONTAINERS_REGISTRIES_CONF: at("registries.conf"),
    // Health checks run on systemd timers. Without systemd as process 1, containers with a health check do not start.
    ...(existsSync("/run/systemd/system") ? {} : { DISABLE_HC_SYSTEMD: "true" }),
  };
  const storage = ["--root", at("root"), "--runroot", at("runroot"), "--tmpdir", at("tmp")];
  const socketPath = at("podman.sock");
  const service = start("podman", [...storage, "system", "service", "--time=0", `unix://${socketPath}`], { env });
  const dispose = async (): Promise<void> => {
    await run("podman", [...storage, "rm", "--all", "--force", "--time=0"], { env });
    await run("podman", [...storage, "network", "prune", "--force"], { env });
    await service[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  };
  try {
    await service.waitUntil("a ping response", async () => {
      return (await engineRequest(socketPath, "GET", "/_ping").catch(() => undefined))?.status === 200;
    });
  } catch (error) {
    await dispose();
    throw error;
  }
  const networkDirectory = at("networks");
  const announceBridges = async (): Promise<void> => {
    for (const file of await readdir(networkDirectory)) {
      if (!file.endsWith(".json")) continue;
      const { network_interface: bridge } = JSON.parse(await readFile(join(networkDirectory, file), "utf8")) as {
        readonly network_interface: string;
      };
      const setting = `/proc/sys/net/ipv4/conf/${bridge}/arp_notify`;
      // Only networks with a container have a bridge.
      if (existsSync(setting)) await writeFile(setting, "1");
    }
  };
  return { socketPath, networkDirectory, announceBridges, [Symbol.asyncDispose]: dispose };
}
