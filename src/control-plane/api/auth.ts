import { timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { type Clock, unixNow } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { hashSecret } from "../secrets.ts";
import type { ApiKey } from "../store/accounts.ts";
import type { Store } from "../store/store.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The request's API key. Set only on endpoints that require one. */
    apiKey: ApiKey | undefined;
  }
}

const MAX_KEY_LENGTH = 128;
/** Resolution of the time of last use. A write for every request would cost more than the request. */
const LAST_USED_RESOLUTION_S = 60;

/** Returns a hook that requires a valid API key. Error: `Unauthorized`. */
export function authenticate(store: Store, clock: Clock) {
  return async (request: FastifyRequest): Promise<void> => {
    const header = request.headers["x-api-key"];
    const key =
      typeof header === "string" && header.length <= MAX_KEY_LENGTH ? await findKey(store, header) : undefined;
    if (!key) throw new EdgeError("Unauthorized");
    request.apiKey = key;
    const now = unixNow(clock);
    if (now - (key.lastUsedAt ?? 0) >= LAST_USED_RESOLUTION_S) await store.keys.recordKeyUse(key.id, now);
  };
}

/** The account of the request's key. */
export function accountOf(request: FastifyRequest): string {
  return keyOf(request).accountId;
}

/** The key of a request that has passed `authenticate`. */
export function keyOf(request: FastifyRequest): ApiKey {
  if (!request.apiKey) throw new Error("the endpoint does not authenticate requests");
  return request.apiKey;
}

async function findKey(store: Store, secret: string): Promise<ApiKey | undefined> {
  const hash = hashSecret(secret);
  const found = await store.keys.findKeyByHash(hash);
  if (!found || !timingSafeEqual(found.hash, hash) || found.key.revokedAt !== undefined) return undefined;
  return found.key;
}
