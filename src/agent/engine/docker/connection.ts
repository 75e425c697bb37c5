import { Agent } from "node:http";
import { inspect } from "node:util";
import Docker from "dockerode";
import { EngineError } from "../engine-error.ts";

/** Returns a client for the engine's current socket. */
export type ConnectEngine = () => Docker;

/** Creates a `ConnectEngine` that calls `socketPath` each time, which may throw an `EngineError`. */
export function createConnector(socketPath: () => string): ConnectEngine {
  let client: { readonly path: string; readonly docker: Docker } | undefined;
  return () => {
    const path = socketPath();
    // A client is bound to one path.
    if (client?.path !== path) client = { path, docker: openClient(path) };
    return client.docker;
  };
}

/**
 * Run from the sources, the library formats each request for a debug log that is not used. Formatting an HTTP agent with its
 * sockets took most of the processor time of a deployment.
 */
function hideFromInspect(agent: Agent): Agent {
  return Object.assign(agent, { [inspect.custom]: () => "Agent" });
}

/** Saves 5 ms: without a server name Node.js checks whether "localhost" is an address. */
const NO_LOOKUP = { servername: "" };

function openClient(socketPath: string): Docker {
  const options = {
    socketPath,
    protocol: "http" as const,
    // Connections are not reused: one from before a restart of the engine would fail the next call.
    agent: hideFromInspect(new Agent({ keepAlive: false, ...NO_LOOKUP })),
    // Otherwise the library reads DOCKER_HOST and others, and prefers them to the socket.
    host: undefined,
    port: undefined,
    timeout: undefined,
  };
  try {
    return new Docker(options);
  } catch (error) {
    throw new EngineError("unavailable", "DOCKER_HOST or DOCKER_CERT_PATH is not usable", { cause: error });
  }
}
