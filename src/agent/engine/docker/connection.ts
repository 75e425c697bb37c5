import { Agent } from "node:http";
import { inspect } from "node:util";
import Docker from "dockerode";
import { EngineError } from "../engine-error.ts";

/** A client for the engine at the path given at this moment. */
export type Connect = () => Docker;

/** Answers clients for the socket that `socketPath` names each time, which may throw an `EngineError`. */
export function createConnector(socketPath: () => string): Connect {
  let client: { readonly path: string; readonly docker: Docker } | undefined;
  return () => {
    const path = socketPath();
    // The library keeps the first path it was given; another one needs another client.
    if (client?.path !== path) client = { path, docker: openClient(path) };
    return client.docker;
  };
}

/**
 * The library writes out each request with everything in it, for a debugging log that nobody reads: with all of an agent
 * and its sockets that took most of the processor's time in a deployment.
 */
function hideFromInspect(agent: Agent): Agent {
  return Object.assign(agent, { [inspect.custom]: () => "Agent" });
}

function openClient(socketPath: string): Docker {
  const options = {
    socketPath,
    protocol: "http" as const,
    // Connections are not kept: one left over from before a restart of the engine would fail the next call.
    agent: hideFromInspect(new Agent({ keepAlive: false })),
    // The library reads DOCKER_HOST and others itself and prefers them to the socket unless told otherwise.
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
