import { createHash } from "node:crypto";
import { DEFAULT_STATE_DIR } from "../core/host/default-paths.ts";

const PREFIX = "edge-agent";
const HASH_LENGTH = 8;

const prefixes = new Map<string, string>();

/**
 * Returns what the names of the agent's networks and volumes in the engine begin with. They differ by the state directory,
 * since several agents may share an engine; an installed agent, of which a machine has one, has the plain one.
 */
export function enginePrefix(stateDir: string): string {
  if (stateDir === DEFAULT_STATE_DIR) return PREFIX;
  const known = prefixes.get(stateDir);
  if (known !== undefined) return known;
  const prefix = `${PREFIX}-${createHash("sha256").update(stateDir).digest("hex").slice(0, HASH_LENGTH)}`;
  prefixes.set(stateDir, prefix);
  return prefix;
}
