import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, start } from "./command.ts";
import { engineRequest } from "./images/load-image.ts";
import { podmanUnavailableReason } from "./podman-service.ts";
import { uniqueNetwork } from "./private-engine/unique-network.ts";
import { tempDir } from "./temp-dir.ts";

/** A Podman of a user without rights, for one test. Disposing it removes everything it made. */
export interface RootlessPodman extends AsyncDisposable {
  readonly socketPath: string;
}

/** Returns why a rootless Podman cannot be started here; `undefined` if it can. */
export async function rootlessPodmanUnavailableReason(): Promise<string | undefined> {
  const missing = await podmanUnavailableReason();
  if (missing !== undefined) return missing;
  for (const [program, version] of [
    ["slirp4netns", "--version"],
    ["newuidmap", "--help"],
  ] as const) {
    const outcome = await run(program, [version]).catch(() => undefined);
    if (!outcome) return `${program}, which a rootless Podman needs, is not installed`;
  }
  return existsSync("/dev/net/tun") ? undefined : "this machine has no /dev/net/tun";
}

const USER = "eat-rootless";
const SUBORDINATE_IDS = 65_536;

/**
 * Starts Podman as a user that exists for it alone: in a mount namespace with user lists of its own, and in a process
 * namespace, whose end ends every process and network of its containers. Needs root and Debian's packages podman, uidmap
 * and slirp4netns.
 */
export async function startRootlessPodman(): Promise<RootlessPodman> {
  const directory = await tempDir();
  const at = (name: string): string => join(directory.path, name);
  const uid = 100_000_000 + Math.floor(Math.random() * 10_000) * 2 * SUBORDINATE_IDS;
  const lists = {
    passwd: `${await readFile("/etc/passwd", "utf8")}${USER}:x:${uid}:${uid}::${at("home")}:/bin/sh\n`,
    group: `${await readFile("/etc/group", "utf8")}${USER}:x:${uid}:\n`,
    subuid: `${USER}:${uid + 1}:${SUBORDINATE_IDS}\n`,
    subgid: `${USER}:${uid + 1}:${SUBORDINATE_IDS}\n`,
  };
  for (const [name, text] of Object.entries(lists)) await writeFile(at(name), text);
  const { subnet, pool } = await uniqueNetwork();
  await writeFile(at("containers.conf"), settings(subnet, pool));
  await writeFile(at("registries.conf"), '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n');
  await chmod(directory.path, 0o755);
  for (const own of ["home", "run", "downloads"]) {
    await mkdir(at(own));
    await chown(at(own), uid, uid);
  }
  const env = {
    PATH: process.env["PATH"],
    HOME: at("home"),
    XDG_RUNTIME_DIR: at("run"),
    TMPDIR: at("downloads"),
    CONTAINERS_CONF: at("containers.conf"),
    CONTAINERS_REGISTRIES_CONF: at("registries.conf"),
    ...(existsSync("/run/systemd/system") ? {} : { DISABLE_HC_SYSTEMD: "true" }),
  };
  const socketPath = at("run/podman.sock");
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const script = [
    ...Object.keys(lists).map((name) => `mount --bind "${at(name)}" /etc/${name}`),
    // Systems with udev let every user open it.
    `mknod --mode=666 "${at("tun")}" c 10 200 && mount --bind "${at("tun")}" /dev/net/tun`,
    'exec catatonit -- "$@"',
  ].join(" && ");
  const namespaces = ["--mount", "--propagation=slave", "--pid", "--mount-proc", "--fork", "--kill-child"];
  const asUser = ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const command = ["podman", "--cgroup-manager=cgroupfs", "system", "service", "--time=0", `unix://${socketPath}`];
  const inside = [...asUser, "env", "--ignore-environment", ...variables, ...command];
  const service = start("unshare", [...namespaces, "sh", "-c", script, "sh", ...inside]);
  const dispose = async (): Promise<void> => {
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
  return { socketPath, [Symbol.asyncDispose]: dispose };
}

/** Its networks are in a namespace of the user, but a test may give an address of them to the machine. */
function settings(subnet: string, pool: string): string {
  return `
[network]
network_backend = "netavark"
default_subnet = "${subnet}"
default_subnet_pools = [{"base" = "${pool}", "size" = 24}]
`;
}
