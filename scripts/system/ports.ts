import { createServer } from "node:net";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../src/protocol/limits.ts";

/** Returns a free port of the range for apps: the preferred one, or a random one. */
export async function freeHostPort(preferred: number): Promise<number> {
  for (let port = preferred; ; port = MIN_HOST_PORT + Math.floor(Math.random() * (MAX_HOST_PORT - MIN_HOST_PORT + 1))) {
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, () => server.close(() => resolve(true)));
  return promise;
}
