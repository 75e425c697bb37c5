import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { startEngine } from "./dockerd.ts";
import { SetupError, logSetup } from "./errors.ts";

const SOCKET = "/var/run/docker.sock";
const START_TIMEOUT_MS = 60_000;

/** Ensures that a container engine responds at DOCKER_HOST or Docker's default socket. Starts Docker if necessary. */
export async function ensureEngine(): Promise<void> {
  const failure = await ping();
  if (failure === undefined) return;
  const configured = configuredHost();
  if (configured !== undefined) {
    throw new SetupError(`no container engine answers at DOCKER_HOST=${configured} (${failure.message})`);
  }
  if (failure.code === "EACCES") {
    throw new SetupError(`this user may not use ${SOCKET}; as root: usermod -aG docker USER, then log in again`);
  }
  using engine = startEngine();
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await isEngineReachable())) {
    if (performance.now() > deadline || engine.hasFailed()) {
      throw new SetupError(`the container engine does not come up; its log is ${engine.log}`);
    }
    await sleep(100);
  }
  logSetup(`the container engine is up and stays so; its log is ${engine.log}`);
}

/** Whether a container engine responds. */
export async function isEngineReachable(): Promise<boolean> {
  return (await ping()) === undefined;
}

async function ping(): Promise<NodeJS.ErrnoException | undefined> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.ErrnoException | undefined>();
  const ping = request({ ...address(), path: "/_ping", timeout: 5_000 });
  ping
    .on("response", (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? undefined : new Error(`HTTP status ${response.statusCode}`));
    })
    .on("timeout", () => ping.destroy(new Error("no answer within 5 s")))
    .on("error", resolve)
    .end();
  return promise;
}

/** As Docker's own client, takes an empty variable for none. */
function configuredHost(): string | undefined {
  return process.env["DOCKER_HOST"] || undefined;
}

function address(): { socketPath: string } | { host: string; port: string } {
  const url = new URL(configuredHost() ?? `unix://${SOCKET}`);
  return url.protocol === "unix:" ? { socketPath: url.pathname } : { host: url.hostname, port: url.port || "2375" };
}
