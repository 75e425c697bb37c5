import type { Logger } from "../../lib/logger.ts";
import type { Policy } from "../core/policy/device-policy.ts";
import { findUnresolvedDenyRules } from "../core/policy/unresolved-deny-rules.ts";
import type { Host } from "../host/host.ts";

/** Maximum number of entries logged at a start. */
const MAX_LOGGED_RULES = 10;

/** Logs the entries of `deny` that the agent cannot resolve. They apply only to paths as written. */
export async function reportUnresolvedDenyRules(
  policy: Policy,
  host: Pick<Host, "resolvePath">,
  logger: Logger,
): Promise<void> {
  const found = await findUnresolvedDenyRules(policy, (path) => host.resolvePath(path));
  for (const { entry, text, next } of found.slice(0, MAX_LOGGED_RULES)) logger.warn({ entry }, `${text} ${next}`);
  if (found.length > MAX_LOGGED_RULES) {
    const message = "more entries of deny cannot be resolved; they apply only to paths as written";
    logger.warn({ count: found.length - MAX_LOGGED_RULES }, message);
  }
}
