import { statSync } from "node:fs";
import { dirname, join } from "node:path";

/** In the directory the service manager makes for the time the service runs. */
export const RUNTIME_SOCKET = "/run/edge-agent/agent.sock";

/** Where the agent takes local commands: as configured, else in its runtime directory where there is one, else in its state directory. */
export function localSocketPath(config: {
  readonly local: { readonly socket?: string | undefined };
  readonly state_dir: string;
}): string {
  if (config.local.socket !== undefined) return config.local.socket;
  return isDirectory(dirname(RUNTIME_SOCKET)) ? RUNTIME_SOCKET : join(config.state_dir, "agent.sock");
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
