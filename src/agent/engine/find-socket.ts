import { statSync } from "node:fs";
import { EngineError } from "./engine-error.ts";

interface SocketFinderOptions {
  /** Path from the configuration, used exclusively. */
  readonly configured?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether a socket exists at the path. */
  readonly isSocket?: (path: string) => boolean;
}

/**
 * Returns a function that finds the engine's socket: the configured path, or that of a `DOCKER_HOST` such as
 * `unix://PATH`, whether or not the socket exists yet; otherwise the first default path where a socket exists. A path
 * once found is kept, so that the agent does not change to another engine while the first restarts.
 *
 * The returned function throws an `EngineError` of kind `unavailable` if there is no socket.
 */
export function createSocketFinder(options: SocketFinderOptions): () => string {
  const isSocket = options.isSocket ?? isSocketOnDisk;
  let found = options.configured ?? dockerHostPath(options.environment["DOCKER_HOST"]);
  return () => {
    const candidates = defaultPaths(options.environment);
    found ??= candidates.find(isSocket);
    if (found !== undefined) return found;
    throw new EngineError("unavailable", `no container engine found: no socket at ${candidates.join(", ")}`);
  };
}

function dockerHostPath(dockerHost: string | undefined): string | undefined {
  const path = dockerHost?.startsWith("unix://") ? dockerHost.slice("unix://".length) : "";
  return path === "" ? undefined : path;
}

function defaultPaths(environment: SocketFinderOptions["environment"]): string[] {
  const paths = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];
  const runtimeDirectory = environment["XDG_RUNTIME_DIR"];
  return runtimeDirectory ? [...paths, `${runtimeDirectory}/podman/podman.sock`] : paths;
}

function isSocketOnDisk(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}
