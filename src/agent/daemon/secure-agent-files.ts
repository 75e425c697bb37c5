import type { Logger } from "../../lib/logger.ts";
import { describePermissionChanges, restrictPermissions } from "../../lib/file-permissions.ts";
import type { Config } from "../config/load.ts";
import { agentFiles } from "../config/agent-files.ts";
import { findExposedFiles } from "../host/exposed-files.ts";

/** Maximum number of files logged at a start. */
const MAX_LOGGED_FILES = 10;

/**
 * Restricts the permissions of the agent's files, and logs what was changed and what could not be. Must be called
 * before any of these files is opened.
 */
export function secureAgentFiles(config: Config, logger: Logger): void {
  const changes = agentFiles(config).flatMap(restrictPermissions);
  if (changes.length > 0) {
    logger.warn(
      { count: changes.length, mended: describePermissionChanges(changes) },
      "permissions were taken from other users, who could read or list files of the agent. If this device has untrusted users, renew the device's token and the secrets of its apps",
    );
  }
  const exposed = findExposedFiles(config).filter(({ isMinor }) => !isMinor);
  for (const { path, text, next } of exposed.slice(0, MAX_LOGGED_FILES))
    logger.warn({ path }, `${text} What to do: ${next}`);
  if (exposed.length > MAX_LOGGED_FILES) {
    logger.warn(
      { count: exposed.length - MAX_LOGGED_FILES },
      "more files are open to other users; see: edge-agent doctor",
    );
  }
}
