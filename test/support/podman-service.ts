import { mkdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { run, start } from "./command.ts";
import { engineRequest } from "./images/load-image.ts";
import { wrapperRuntime } from "./runtime/wrapper-runtime.ts";
import { tempDir } from "./temp-dir.ts";

/** A separate Podman for one test. Disposing it removes everything it made. */
export interface PodmanService extends AsyncDisposable {
  readonly socketPath: string;
}

// Podman must be told that loopback registries have no TLS. Its default limits of open files and processes are above
// what a container gets without CAP_SYS_RESOURCE.
const REGISTRIES = '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n';
const containersConf = (runtime: string): string => `
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "${runtime}"
`;

/** Returns why Podman cannot be started here; `undefined` if it can. */
export async function podmanUnavailableReason(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "a separate Podman needs root";
  const version = await run("podman", ["--version"]).catch(() => undefined);
  return version?.code === 0 ? undefined : "podman is not installed";
}

/** Starts `podman system service` with its own storage, settings and socket. Needs root and Debian's package podman. */
export async function startPodman(): Promise<PodmanService> {
  const directory = await tempDir();
  const at = (name: string): string => join(directory.path, name);
  await writeFile(at("registries.conf"), REGISTRIES);
  await writeFile(at("containers.conf"), containersConf(await wrapperRuntime(directory.path)));
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
