import { createHash } from "node:crypto";

/** The state directory of an installed agent, of which a machine has one. */
const DEFAULT_STATE_DIR = "/var/lib/edge-agent";
const PREFIX = "edge-agent";

const prefixes = new Map<string, string>();

/**
 * Returns what the names of the agent's networks begin with. They differ by the state directory, since several agents may
 * share an engine.
 */
export function enginePrefix(stateDir: string): string {
  if (stateDir === DEFAULT_STATE_DIR) return PREFIX;
  const known = prefixes.get(stateDir);
  if (known !== undefined) return known;
  const prefix = `${PREFIX}-${createHash("sha256").update(stateDir).digest("hex").slice(0, 8)}`;
  prefixes.set(stateDir, prefix);
  return prefix;
}
