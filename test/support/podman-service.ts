import { mkdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { run, start } from "./command.ts";
import { engineRequest } from "./images/load-image.ts";
import { wrapperRuntime } from "./runtime/wrapper-runtime.ts";
import { tempDir } from "./temp-dir.ts";

/** A Podman of the test's own, apart from any other on the machine. Disposing it removes everything it made. */
export interface PodmanService extends AsyncDisposable {
  readonly socketPath: string;
}

// Registries on loopback have no TLS, and Podman wants to be told. Its own limits of open files and processes are more
// than a container without the capability CAP_SYS_RESOURCE can be given.
const REGISTRIES = '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n';
const containersConf = (runtime: string): string => `
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "${runtime}"
`;

/** Why no Podman can be started here; `undefined` where one can. */
export async function podmanUnavailableReason(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "a Podman of its own needs root";
  const version = await run("podman", ["--version"]).catch(() => undefined);
  return version?.code === 0 ? undefined : "podman is not installed";
}

/** Starts `podman system service` with storage, settings and socket of its own. Needs Debian's package podman, and root. */
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
    // Health checks run on systemd timers; without systemd as process 1 containers with one would not even start.
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
    await service.waitUntil("answering", async () => {
      return (await engineRequest(socketPath, "GET", "/_ping").catch(() => undefined))?.status === 200;
    });
  } catch (error) {
    await dispose();
    throw error;
  }
  return { socketPath, [Symbol.asyncDispose]: dispose };
}
