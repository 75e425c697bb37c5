import { statSync } from "node:fs";
import { EngineError } from "./engine-error.ts";

interface SocketFinderOptions {
  /** Path from the configuration, used exclusively. */
  readonly configured?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether a socket exists at the path. */
  readonly isSocket?: (path: string) => boolean;
  /** Whether this process may not look at the path, so that a socket may be there. */
  readonly isHidden?: (path: string) => boolean;
}

/**
 * Returns a function that finds the engine's socket: the configured path, or that of a `DOCKER_HOST` such as
 * `unix://PATH`, whether or not the socket exists yet; otherwise the first default path where a socket exists. A path
 * once found is kept, so that the agent does not change to another engine while the first restarts.
 *
 * The returned function throws an `EngineError` of kind `unavailable` if there is no socket.
 */
export function createSocketFinder(options: SocketFinderOptions): () => string {
  const { isSocket = isSocketOnDisk, isHidden = isHiddenOnDisk } = options;
  let found = options.configured ?? dockerHostPath(options.environment["DOCKER_HOST"]);
  return () => {
    const candidates = defaultPaths(options.environment);
    found ??= candidates.find(isSocket);
    if (found !== undefined) return found;
    const hidden = candidates.find(isHidden);
    // Podman's directory is closed to other users: there is an engine, which the agent may not use.
    if (hidden !== undefined)
      throw new EngineError(
        "unavailable",
        `no connection to the container engine: no permission to look for its socket at ${hidden}`,
        { cause: Object.assign(new Error("no permission"), { code: "EACCES", address: hidden }) },
      );
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

function isHiddenOnDisk(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

function isSocketOnDisk(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}
