import { type Clock, unixNow } from "../../lib/clock.ts";
import { type AuditAction, OUTCOME_OK } from "../core/people/audit-actions.ts";
import type { AuditActor, AuditEntry } from "../store/audit.ts";

/** Who acts, in which account and from where. */
export interface AuditOrigin {
  readonly accountId: string;
  readonly actor: AuditActor;
  /** Address the request came from; `undefined` if there is none. */
  readonly source: string | undefined;
  /** Hash of the `Idempotency-Key` that the request has, if it is remembered. */
  readonly idempotencyKeyHash?: Uint8Array | undefined;
}

/** What was done. */
export interface AuditFacts extends Partial<Pick<AuditEntry, "assetUuid" | "app" | "subject" | "details">> {
  readonly action: AuditAction;
  /** Default: it was carried out. */
  readonly outcome?: string;
}

/** Returns the entry for what is done now. */
export function auditEntry(origin: AuditOrigin, clock: Clock, facts: AuditFacts): AuditEntry {
  const { accountId, actor, source, idempotencyKeyHash } = origin;
  const { action, assetUuid = "", app = "", subject, outcome = OUTCOME_OK, details = {} } = facts;
  const about = { action, assetUuid, app, subject, outcome, details };
  return { accountId, at: unixNow(clock), actor, source, ...about, ...(idempotencyKeyHash && { idempotencyKeyHash }) };
}
