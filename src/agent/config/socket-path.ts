import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DEFAULT_STATE_DIR } from "../core/host/default-paths.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** In the runtime directory, which the service manager creates while the service runs. */
export const RUNTIME_SOCKET = "/run/edge-agent/agent.sock";

/** Groups whose members may use the full socket, which grants root through the engine, or the read-only one. */
export const FULL_ACCESS_GROUP = "edge-agent";
export const READ_ONLY_GROUP = "edge-agent-read";

/**
 * Returns the path of the full socket: as configured, else in the runtime directory if that exists or the state
 * directory.
 */
export function localSocketPath(config: {
  readonly local: { readonly socket?: string | undefined };
  readonly state_dir: string;
}): string {
  if (config.local.socket !== undefined) return config.local.socket;
  return isDirectory(dirname(RUNTIME_SOCKET)) ? RUNTIME_SOCKET : join(config.state_dir, "agent.sock");
}

/** Returns the path of the read-only socket, in the same directory: `agent-read.sock` for `agent.sock`. */
export function readOnlySocketPath(socketPath: string): string {
  return socketPath.endsWith(".sock") ? `${socketPath.slice(0, -".sock".length)}-read.sock` : `${socketPath}-read`;
}

/**
 * Returns the path of the full socket for a command. Does not validate the configuration, to start faster. If this user
 * cannot read the file, returns the socket of the service, which they may be allowed to use.
 */
export function findLocalSocket(configPath: string): string {
  try {
    const { local, state_dir: stateDir } = parseBoundedJson(readFileSync(configPath, "utf8"), "file") as Record<
      string,
      unknown
    >;
    const socket = stringOr(undefined, (local as { socket?: unknown } | undefined)?.socket);
    const directory = stringOr(DEFAULT_STATE_DIR, stateDir);
    const path = localSocketPath({ local: { socket }, state_dir: directory });
    // The runtime directory goes with the service: its socket is the one that is missing.
    const isStopped = socket === undefined && directory === DEFAULT_STATE_DIR && !existsSync(path);
    return isStopped ? RUNTIME_SOCKET : path;
  } catch {
    return RUNTIME_SOCKET;
  }
}

function stringOr<T>(fallback: T, value: unknown): string | T {
  return typeof value === "string" ? value : fallback;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
