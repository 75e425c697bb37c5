import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import type { ApiKeyBody } from "../../../protocol/api-keys.ts";
import { EdgeError } from "../../../protocol/errors.ts";
import { invalidRequest } from "../../../protocol/request-error.ts";
import type { ApiKey } from "../../store/accounts.ts";
import type { AuditEntry } from "../../store/audit.ts";
import { accountOf } from "../auth.ts";
import type { ApiContext } from "../context.ts";

/** Path parameter of every endpoint of one key. */
export const keyParams = z.object({ key_id: z.string().meta({ description: "Id of the API key." }) });

/** Finds a key of the account, also if it is revoked. Error: `KeyNotFound`. */
export async function findKey(
  { store }: Pick<ApiContext, "store">,
  request: FastifyRequest<{ Params: { key_id: string } }>,
): Promise<ApiKey> {
  const { key_id: id } = request.params;
  // No id has one, and databases refuse it.
  const key = id.includes("\0") ? undefined : await store.keys.findKey(id);
  if (key?.accountId !== accountOf(request)) throw new EdgeError("KeyNotFound");
  return key;
}

export function requireFuture(clock: Clock, expiresAt: number | null | undefined): void {
  if (typeof expiresAt !== "number" || expiresAt > unixNow(clock)) return;
  throw invalidRequest([{ path: "expires_at", reason: "is not in the future" }]);
}

export function keySubjectOf({ id, name }: Pick<ApiKey, "id" | "name">): AuditEntry["subject"] {
  return { kind: "key", id, name };
}

export function toKeyBody(key: ApiKey): ApiKeyBody {
  const { id, name, role, permissions, createdAt, createdBy, expiresAt, lastUsedAt, revokedAt } = key;
  return {
    id,
    name,
    role,
    permissions: [...permissions],
    created_at: createdAt,
    created_by: createdBy ?? null,
    expires_at: expiresAt ?? null,
    last_used_at: lastUsedAt ?? null,
    revoked_at: revokedAt ?? null,
  };
}
