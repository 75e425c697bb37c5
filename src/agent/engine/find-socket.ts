import { statSync } from "node:fs";
import { EngineError } from "./engine-error.ts";

interface SocketFinderOptions {
  /** Path from the configuration; then no other is looked at. */
  readonly configured?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether a socket exists at the path. */
  readonly isSocket?: (path: string) => boolean;
}

/**
 * Answers where the engine's socket is: the configured path, else that of a `DOCKER_HOST` of the form `unix://PATH`,
 * both also while nothing is there yet; else the first of the usual places where there is one. Once found it stays: an
 * engine that is being restarted must not be taken for another one that happens to be installed.
 *
 * The function answered throws an `EngineError` of kind `unavailable` while there is no socket.
 */
export function createSocketFinder(options: SocketFinderOptions): () => string {
  const isSocket = options.isSocket ?? isSocketOnDisk;
  let found = options.configured ?? dockerHostPath(options.environment["DOCKER_HOST"]);
  return () => {
    const candidates = usualPlaces(options.environment);
    found ??= candidates.find(isSocket);
    if (found !== undefined) return found;
    throw new EngineError("unavailable", `no container engine found: no socket at ${candidates.join(", ")}`);
  };
}

function dockerHostPath(dockerHost: string | undefined): string | undefined {
  const path = dockerHost?.startsWith("unix://") ? dockerHost.slice("unix://".length) : "";
  return path === "" ? undefined : path;
}

function usualPlaces(environment: SocketFinderOptions["environment"]): string[] {
  const places = ["/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock"];
  const runtimeDirectory = environment["XDG_RUNTIME_DIR"];
  return runtimeDirectory ? [...places, `${runtimeDirectory}/podman/podman.sock`] : places;
}

function isSocketOnDisk(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}
