import { createServer } from "node:net";
import { HOST_PORT_MAX, HOST_PORT_MIN } from "../../src/protocol/limits.ts";

/** A free port of the range apps may use: the preferred one, or any other where that is taken. */
export async function freeHostPort(preferred: number): Promise<number> {
  for (let port = preferred; ; port = HOST_PORT_MIN + Math.floor(Math.random() * (HOST_PORT_MAX - HOST_PORT_MIN + 1))) {
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
