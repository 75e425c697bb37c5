import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

/** A TCP port that was free a moment ago on all addresses. */
export async function freePort(): Promise<number> {
  return await claim(0).then((port) => port ?? Promise.reject(new Error("no port is free")));
}

const FIRST_HOST_PORT = 30_000;
const HOST_PORTS = 2768;

/** A free TCP port in the range apps may be published in, 30000 to 32767. No other test gets it while this process lives. */
export async function freeHostPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_HOST_PORT + Math.floor(Math.random() * HOST_PORTS);
    if ((await reserve(port)) && (await claim(port)) !== undefined) return port;
  }
  throw new Error("no free port between 30000 and 32767");
}

/** Whether nothing listens on the TCP port. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await claim(port)) !== undefined;
}

/** Takes a name that only one process of the machine can have, and that is free again once the process has ended. */
function reserve(port: number): Promise<boolean> {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(`\0edge-agent-test-port-${port}`, () => resolve(true));
  });
}

function claim(port: number): Promise<number | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen({ port, exclusive: true }, () => {
      const { port: claimed } = server.address() as AddressInfo;
      server.close(() => resolve(claimed));
    });
  });
}
