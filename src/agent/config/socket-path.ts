import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DEFAULT_STATE_DIR } from "./default-paths.ts";

/** In the directory the service manager makes for the time the service runs. */
export const RUNTIME_SOCKET = "/run/edge-agent/agent.sock";

/** The groups whose members may use the sockets: all of it, which makes a member root through the engine, or reading. */
export const FULL_ACCESS_GROUP = "edge-agent";
export const READ_ONLY_GROUP = "edge-agent-read";

/** Where the agent takes local commands: as configured, else in its runtime directory where there is one, else in its state directory. */
export function localSocketPath(config: {
  readonly local: { readonly socket?: string | undefined };
  readonly state_dir: string;
}): string {
  if (config.local.socket !== undefined) return config.local.socket;
  return isDirectory(dirname(RUNTIME_SOCKET)) ? RUNTIME_SOCKET : join(config.state_dir, "agent.sock");
}

/** Where it takes those that only read: beside the other, `agent-read.sock` for `agent.sock`. */
export function readOnlySocketPath(socketPath: string): string {
  return socketPath.endsWith(".sock") ? `${socketPath.slice(0, -".sock".length)}-read.sock` : `${socketPath}-read`;
}

/**
 * The same for a command, which has no use for the rest of the configuration and does not wait for its being checked.
 * Where the file cannot be read, as by a person without the right to, the socket of the service: they may use that.
 */
export function findLocalSocket(configPath: string): string {
  try {
    const { local, state_dir: stateDir } = JSON.parse(readFileSync(configPath, "utf8")) as Record<string, unknown>;
    return localSocketPath({
      local: { socket: stringOr(undefined, (local as { socket?: unknown } | undefined)?.socket) },
      state_dir: stringOr(DEFAULT_STATE_DIR, stateDir),
    });
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
