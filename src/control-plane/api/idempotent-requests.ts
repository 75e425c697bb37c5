import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { z } from "zod";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { hashSecret } from "../accounts/secrets.ts";
import { type IdempotencyId, MAX_IDEMPOTENT_REQUEST_MS } from "../store/idempotency.ts";
import { logStoreError, repeatWhileUnavailable, StoreUnavailableError } from "../store/unavailable.ts";
import { credentialOf, principalOf } from "./auth.ts";
import type { Api, ApiContext } from "./context.ts";
import { idempotencyHeaders, idempotencyKeyOf } from "./idempotency-key.ts";

/*
 * Idempotency-Key of all operations that change something, except those whose result has an identity of its own: deployments and
 * rollouts remember the request that made them. A response is kept encrypted, and the request as a MAC, both with keys that are
 * derived from the credential of the request, of which the service stores a hash only. So neither secrets of responses nor
 * secrets of requests can be had from the store, and another client gets no response.
 */

const DESCRIPTION =
  "A repetition of a request that was carried out gets the response of the first one, with the header `Idempotent-Replayed`, and " +
  "changes nothing. A refused request may be repeated with the same key. A key counts for the account, for the method, path, query " +
  "and body it was first used with, sent by the same API key or in the same session: anything else is refused with " +
  "`IdempotencyKeyReused`. It is remembered for 24 hours, as one of the account's newest 2,000.";

const MAX_OPERATION_LENGTH = 200;
/** While the database does not respond: about as long as repetitions are told to wait. */
const RECORD_ATTEMPTS = 40;
const REPLAYED_HEADERS = ["content-type", "location", "etag"] as const;
const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** A request that this process carries out under its key. */
export interface ClaimedRequest extends IdempotencyId {
  readonly encryptionKey: Buffer;
}

/** A response as it is kept. */
interface KeptResponse {
  readonly status: number;
  readonly headers: Readonly<Partial<Record<(typeof REPLAYED_HEADERS)[number], string>>>;
  readonly body?: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set while the request is carried out under its `Idempotency-Key`. */
    idempotent: ClaimedRequest | undefined;
  }
}

/** Carries out `Idempotency-Key` on all changing operations of the scope that do not declare it themselves. Must come before the routes. */
export function rememberRequests(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, logger, stopping, accounts } = context;
  const own = declareKeys(api);
  api.decorateRequest("idempotent", undefined);
  api.addHook("preHandler", async (request, reply) => {
    const key = idempotencyKeyOf(request);
    const { method, routeOptions } = request;
    if (key === undefined || SAFE_METHODS.has(method) || own.has(`${method} ${routeOptions.url}`)) return undefined;
    const { accountId, id: principalId } = principalOf(request);
    const { url, body } = request;
    const keyHash = hashSecret(key);
    const keys = deriveKeys(String(credentialOf(request, accounts.site)), keyHash);
    const fingerprint = createHmac("sha256", keys.fingerprint)
      .update(JSON.stringify([method, url, body ?? null]))
      .digest();
    const operation = `${method} ${url.split("?")[0]}`.slice(0, MAX_OPERATION_LENGTH);
    const nowMs = Math.floor(clock.serviceNow());
    const claim = await store.idempotency.claim({ accountId, keyHash, principalId, operation, fingerprint }, nowMs);
    switch (claim.kind) {
      case "claimed":
        request.idempotent = { accountId, keyHash, encryptionKey: keys.encryption };
        return undefined;
      case "in_progress": {
        throw inProgress(claim.untilMs - nowMs);
      }
      case "other":
        throw reused(claim, { principalId, operation });
      case "done":
        if (!claim.response) throw new EdgeError("IdempotencyResponseLost");
        return replay(reply, decrypt(claim.response, keys.encryption));
    }
  });

  api.addHook("onSend", async (request, reply, payload) => {
    const claimed = request.idempotent;
    if (!claimed) return payload;
    request.idempotent = undefined;
    const { statusCode } = reply;
    const isKept = statusCode < 300 && (typeof payload === "string" || payload === undefined || payload === null);
    if (isKept) {
      const response = encrypt(responseOf(reply, payload), claimed.encryptionKey);
      await recordEnd(request.id, () => store.idempotency.complete(claimed, response));
    } else {
      // After the service's own failure, the database may have carried out what it did not confirm.
      await recordEnd(request.id, () => store.idempotency.release(claimed, statusCode >= 500));
    }
    return payload;
  });

  /** Until an end is on record, repetitions are told that the first request is under way. */
  async function recordEnd(requestId: string, record: () => Promise<void>): Promise<void> {
    const warn = (error: unknown): void =>
      logStoreError(logger, error, { request_id: requestId }, "cannot record the end of an idempotent request");
    try {
      await record();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) return warn(error);
      // The client does not wait for it.
      repeatWhileUnavailable(record, { clock, signal: stopping, maxAttempts: RECORD_ATTEMPTS }).catch(warn);
    }
  }
}

/** Declares the header for the routes that follow. Returns the operations that declare it themselves. */
function declareKeys(api: Api): ReadonlySet<string> {
  const own = new Set<string>();
  api.addHook("onRoute", (route) => {
    const method = String(route.method);
    if (SAFE_METHODS.has(method) || !route.schema) return;
    const headers = route.schema.headers as z.ZodObject | undefined;
    if (headers && "idempotency-key" in headers.shape) own.add(`${method} ${route.url}`);
    else route.schema = { ...route.schema, headers: idempotencyHeaders(DESCRIPTION, headers) };
  });
  return own;
}

/** @param leftMs until it is known that the process of the first request is gone, if it is */
function inProgress(leftMs: number): EdgeError {
  const left = Math.max(1, Math.ceil(leftMs / 1000));
  const age = Math.max(0, Math.floor((MAX_IDEMPOTENT_REQUEST_MS - leftMs) / 1000));
  return new EdgeError(
    "IdempotencyInProgress",
    `The first request with this Idempotency-Key began ${age} s ago and has not ended; if its process has died, that is known in ${left} s.`,
    // As long as it has taken so far.
    { retry_after_s: Math.max(1, Math.min(age, left)) },
  );
}

function reused(
  first: { readonly principalId: string; readonly operation: string },
  { principalId, operation }: { readonly principalId: string; readonly operation: string },
): EdgeError {
  const what =
    first.operation !== operation
      ? `for ${first.operation}`
      : first.principalId !== principalId
        ? "by another API key or person"
        : "with another query or body, or in another session";
  return new EdgeError("IdempotencyKeyReused", `This Idempotency-Key was used ${what}.`, { first: first.operation });
}

function responseOf(reply: FastifyReply, payload: unknown): KeptResponse {
  const headers = REPLAYED_HEADERS.flatMap((name) => {
    const value = reply.getHeader(name);
    return value === undefined ? [] : [[name, String(value)] as const];
  });
  return {
    status: reply.statusCode,
    headers: Object.fromEntries(headers),
    ...(typeof payload === "string" && { body: payload }),
  };
}

function replay(reply: FastifyReply, { status, headers, body }: KeptResponse): FastifyReply {
  void reply.code(status).headers({ ...headers, "Idempotent-Replayed": "true" });
  // It is JSON already.
  return body === undefined ? reply.send() : reply.serializer((text) => text as string).send(body);
}

function deriveKeys(
  credential: string,
  keyHash: Uint8Array,
): { readonly fingerprint: Buffer; readonly encryption: Buffer } {
  const derived = Buffer.from(hkdfSync("sha256", credential, keyHash, "edge-control idempotency", 2 * KEY_BYTES));
  return { fingerprint: derived.subarray(0, KEY_BYTES), encryption: derived.subarray(KEY_BYTES) };
}

function encrypt(response: KeptResponse, key: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  const text = Buffer.concat([cipher.update(JSON.stringify(response)), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

function decrypt(stored: Uint8Array, key: Buffer): KeptResponse {
  const bytes = Buffer.from(stored);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(text.toString()) as KeptResponse;
}
