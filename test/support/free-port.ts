import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

/** Returns a TCP port that is free on all addresses at the time of the call. */
export async function freePort(): Promise<number> {
  return await claim(0).then((port) => port ?? Promise.reject(new Error("no port is free")));
}

const FIRST_HOST_PORT = 30_000;
const HOST_PORTS = 2768;

/** Returns a free TCP port that apps may publish, 30000 to 32767. Reserved for this process until it exits. */
export async function freeHostPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_HOST_PORT + Math.floor(Math.random() * HOST_PORTS);
    if (await reserveHostPort(port)) return port;
  }
  throw new Error("no free port between 30000 and 32767");
}

/** Reserves a port that apps may publish, for this process until it exits, unless it is taken. */
export async function reserveHostPort(port: number): Promise<boolean> {
  return (await reserve(port)) && (await claim(port)) !== undefined;
}

/** Returns whether nothing listens on the TCP port. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await claim(port)) !== undefined;
}

/** Reserves the port among test processes by an abstract socket, which the kernel releases when the process exits. */
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
