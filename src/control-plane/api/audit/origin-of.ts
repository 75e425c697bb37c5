import type { FastifyRequest } from "fastify";
import type { AuditOrigin } from "../../accounts/audit-entry.ts";
import { principalOf } from "../auth.ts";

/** Who acts with a request, and from where, for the audit log. */
export function originOf(request: FastifyRequest): AuditOrigin {
  const { accountId, kind, id, name } = principalOf(request);
  const keyHash = request.idempotent?.keyHash;
  return { accountId, actor: { kind, id, name }, source: request.ip, ...(keyHash && { idempotencyKeyHash: keyHash }) };
}
