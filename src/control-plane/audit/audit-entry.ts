import { type Clock, unixNow } from "../../lib/clock.ts";
import { type AuditAction, OUTCOME_OK } from "../core/people/audit-actions.ts";
import type { AuditActor, AuditEntry } from "../store/audit.ts";

/** Who acts, in which account and from where. */
export interface AuditOrigin {
  readonly accountId: string;
  readonly actor: AuditActor;
  /** Address the request came from; `undefined` if there is none. */
  readonly source: string | undefined;
}

/** What was done. */
export interface AuditFacts extends Partial<Pick<AuditEntry, "assetUuid" | "app" | "subject" | "details">> {
  readonly action: AuditAction;
  /** Default: it was carried out. */
  readonly outcome?: string;
}

/** Returns the entry for what is done now. */
export function auditEntry({ accountId, actor, source }: AuditOrigin, clock: Clock, facts: AuditFacts): AuditEntry {
  const { action, assetUuid = "", app = "", subject, outcome = OUTCOME_OK, details = {} } = facts;
  return { accountId, at: unixNow(clock), actor, source, action, assetUuid, app, subject, outcome, details };
}
