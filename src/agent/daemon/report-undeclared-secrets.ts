import type { Logger } from "../../lib/logger.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import { listNames, undeclaredSecrets } from "../core/deployment/secret-notes.ts";

/** Maximum number of apps logged at a start. */
const MAX_LOGGED_APPS = 10;

/**
 * Logs which apps have variables that look like secrets and are not declared. Earlier releases masked every value in an
 * app's log, so apps they deployed may print secrets that are not masked any more.
 */
export function reportUndeclaredSecrets(apps: readonly AppRecord[], logger: Logger): void {
  const found = apps.flatMap(({ name, spec }) => {
    const variables = undeclaredSecrets(spec);
    return variables.length > 0 ? [{ app: name, variables: listNames(variables) }] : [];
  });
  for (const entry of found.slice(0, MAX_LOGGED_APPS)) {
    logger.warn(
      entry,
      "variables look like secrets and are not declared as such: the app's log shows their values if the app prints " +
        "them. To declare one: edgectl apps update ASSET APP --secret-env VARIABLE",
    );
  }
  if (found.length > MAX_LOGGED_APPS) {
    const message = "more apps have variables that look like secrets and are not declared as such";
    logger.warn({ count: found.length - MAX_LOGGED_APPS }, message);
  }
}
