import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import type { ApiKeyBody } from "../../../protocol/people/api-keys.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import type { ApiKey } from "../../store/accounts.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { Principal } from "../../accounts/principal.ts";
import { accountOf } from "../auth.ts";
import { type Resource, stateOf } from "../conditional-requests.ts";
import type { ApiBase } from "../context.ts";

/** What ids of users begin with. */
const USER_ID = "usr_";

/** Path parameter of every endpoint of one key. */
export const keyParams = z.object({ key_id: z.string().meta({ description: "Id of the API key." }) });

/** Finds a key of the account, also if it is revoked. Error: `KeyNotFound`. */
export async function findKey(
  { store }: Pick<ApiBase, "store">,
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

/** Throws if the key would outlive the key that makes the request: access must not be prolonged by what is to end. */
export function requireNoLaterThan(principal: Principal, expiresAt: number | undefined): void {
  const end = principal.kind === "key" ? principal.expiresAt : undefined;
  if (end === undefined || (expiresAt ?? Infinity) <= end) return;
  throw invalidRequest([
    { path: "expires_at", reason: `must be at most ${end}, when the key of this request expires` },
  ]);
}

/** Returns the maker of a key, and its owner. Error: `InvalidRequest` if its owner would not be that of its maker. */
export function makerOf(
  principal: Principal,
  belongsTo: ApiKeyBody["belongs_to"] | undefined,
): Pick<ApiKey, "createdBy" | "originId" | "isPersonal"> {
  const { id } = principal;
  if (principal.kind === "user") return { createdBy: id, originId: id, isPersonal: belongsTo !== "account" };
  const { originId = id, isPersonal = false } = principal.key;
  if (belongsTo !== undefined && belongsTo !== ownerOf({ isPersonal })) {
    const reason = `is ${ownerOf({ isPersonal })} for a key that is made with this one; sign in to make another`;
    throw invalidRequest([{ path: "belongs_to", reason }]);
  }
  return { createdBy: id, originId, isPersonal };
}

function ownerOf({ isPersonal }: Pick<ApiKey, "isPersonal">): ApiKeyBody["belongs_to"] {
  return isPersonal ? "person" : "account";
}

/** A key as its endpoint shows it. Its last use is no change of a client. */
export function toKeyResource(key: ApiKey): Resource<ApiKeyBody> {
  return { state: keyState(key), body: toKeyBody(key) };
}

export function keyState({ id, name, expiresAt, revokedAt }: ApiKey): string {
  return stateOf(id, name, expiresAt, revokedAt);
}

export function keySubjectOf({ id, name }: Pick<ApiKey, "id" | "name">): AuditEntry["subject"] {
  return { kind: "key", id, name };
}

export function toKeyBody(key: ApiKey): ApiKeyBody {
  const { id, name, role, permissions, createdAt, createdBy, originId, expiresAt, lastUsedAt, revokedAt } = key;
  return {
    id,
    name,
    role,
    permissions: [...permissions],
    created_at: createdAt,
    created_by: createdBy ?? null,
    belongs_to: ownerOf(key),
    person: originId?.startsWith(USER_ID) ? originId : null,
    expires_at: expiresAt ?? null,
    last_used_at: lastUsedAt ?? null,
    revoked_at: revokedAt ?? null,
  };
}
