import type { FastifyRequest } from "fastify";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import type { User } from "../../core/people/user.ts";
import type { Principal } from "../../people/principal.ts";
import type { AuditEntry } from "../../store/audit.ts";
import { principalOf } from "../auth.ts";

/** What an entry is about, besides who did it, when and from where. */
export type AuditFacts = Pick<AuditEntry, "action" | "subject"> &
  Partial<Pick<AuditEntry, "assetUuid" | "app" | "details">>;

/** Returns the entry of the audit log for what the principal of the request does. */
export function auditOf(request: FastifyRequest, clock: Clock, facts: AuditFacts): AuditEntry {
  const { kind, id, accountId, name } = principalOf(request) satisfies Principal;
  return toEntry(request, clock, accountId, { kind, id, name }, facts);
}

/** Returns the entry for what a user does who is not signed in yet. */
export function auditOfUser(request: FastifyRequest, clock: Clock, user: User, facts: AuditFacts): AuditEntry {
  return toEntry(request, clock, user.accountId, { kind: "user", id: user.id, name: user.email }, facts);
}

export function userSubjectOf({ id, email }: Pick<User, "id" | "email">): AuditEntry["subject"] {
  return { kind: "user", id, name: email };
}

function toEntry(
  { ip }: FastifyRequest,
  clock: Clock,
  accountId: string,
  actor: AuditEntry["actor"],
  { action, subject, assetUuid = "", app = "", details = {} }: AuditFacts,
): AuditEntry {
  return { accountId, at: unixNow(clock), actor, source: ip, action, assetUuid, app, subject, outcome: "ok", details };
}
