import type { FastifyRequest } from "fastify";
import { type AuditOrigin, auditEntry, type AuditFacts } from "../../accounts/audit-entry.ts";
import { principalOf } from "../auth.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { User } from "../../core/people/user.ts";
import type { AuditEntry } from "../../store/audit.ts";

/** Who acts with a request, and from where, for the audit log. */
export function originOf(request: FastifyRequest): AuditOrigin {
  const { accountId, kind, id, name } = principalOf(request);
  const keyHash = request.idempotent?.keyHash;
  return { accountId, actor: { kind, id, name }, source: request.ip, ...(keyHash && { idempotencyKeyHash: keyHash }) };
}

/** Returns the entry of the audit log for what the principal of the request does. */
export function auditOf(request: FastifyRequest, clock: Clock, facts: AuditFacts): AuditEntry {
  return auditEntry(originOf(request), clock, facts);
}

/** Returns the entry for what a user does who is not signed in yet. */
export function auditOfUser(request: FastifyRequest, clock: Clock, user: User, facts: AuditFacts): AuditEntry {
  const actor = { kind: "user", id: user.id, name: user.name } as const;
  return auditEntry({ accountId: user.accountId, actor, source: request.ip }, clock, facts);
}

export function userSubjectOf({ id, email }: Pick<User, "id" | "email">): AuditEntry["subject"] {
  return { kind: "user", id, name: email };
}
