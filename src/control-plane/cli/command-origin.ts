import { userInfo } from "node:os";
import type { AuditOrigin } from "../accounts/audit-entry.ts";

/** Set by sudo to who called it. Only information: who may use sudo can set it. */
const SUDO_USER = "SUDO_USER";

/**
 * Who runs a command, for the audit log: the system's user.
 *
 * @param accountId the account the command changes; empty if it is about no single one
 */
export function commandOrigin(accountId: string): AuditOrigin {
  const id = systemUser();
  const caller = process.env[SUDO_USER];
  const name = caller === undefined || caller === id ? id : `${id} (sudo of ${caller.slice(0, 64)})`;
  return { accountId, actor: { kind: "command_line", id, name }, source: undefined };
}

/** In a container the user may have no name. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
