import type { Logger } from "../../lib/logger.ts";
import type { Policy } from "../core/policy/device-policy.ts";
import { findUnresolvedDenyRules } from "../core/policy/unresolved-deny-rules.ts";
import type { Host } from "../host/host.ts";

/** Lines about entries of `deny`, at most, at one start. */
const MAX_LOGGED_RULES = 10;

/** Logs which entries of `deny` count only as written, since the agent cannot see where they lead. */
export async function reportUnresolvedDenyRules(
  policy: Policy,
  host: Pick<Host, "resolvePath">,
  logger: Logger,
): Promise<void> {
  const found = await findUnresolvedDenyRules(policy, (path) => host.resolvePath(path));
  for (const { entry, text, next } of found.slice(0, MAX_LOGGED_RULES)) logger.warn({ entry }, `${text} ${next}`);
  if (found.length > MAX_LOGGED_RULES) {
    const message = "more entries of deny count only as written; the agent cannot see where they lead";
    logger.warn({ count: found.length - MAX_LOGGED_RULES }, message);
  }
}
