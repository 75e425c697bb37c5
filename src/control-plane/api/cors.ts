import type { FastifyReply, FastifyRequest, onRequestHookHandler } from "fastify";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Api } from "./context.ts";

/** How long browsers remember the answer to a preflight, in seconds; Chromium takes no more. */
const PREFLIGHT_AGE_S = 7200;

const METHODS = "GET, POST, PUT, PATCH, DELETE";

/** Headers that clients of the API send. */
const REQUEST_HEADERS = [
  "Accept",
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Last-Event-ID",
  "Prefer",
  "X-API-Key",
  "X-Request-Id",
].join(", ");

/** Response headers that mean something to clients of the API. */
const RESPONSE_HEADERS = [
  "Deployment-Id",
  "Deprecation",
  "ETag",
  "Idempotent-Replayed",
  "Link",
  "Location",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "Sunset",
  "WWW-Authenticate",
  "X-Next-Cursor",
  "X-Request-Id",
].join(", ");

/**
 * Lets pages of these origins, by account, call the API with an API key. Responses do not allow credentials, so that no browser
 * sends the cookies of a session along. Must be called before the routes are registered.
 *
 * @returns a hook for what comes after authentication: it withdraws what is allowed for other accounts only. A preflight, and a
 *   refusal for want of a valid key, say nothing of an account.
 */
export function allowOrigins(
  api: Api,
  origins: Readonly<Record<string, readonly string[]>>,
): onRequestHookHandler | undefined {
  const allowed = allowedOf(origins);
  api.addHook("onRequest", (request, reply, done) => {
    const isAllowed = sendAllowedOrigin(request, reply, allowed);
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return done();
    if (!isAllowed) {
      const message =
        "Pages of this origin may not call the API: it is not in cors_origins of the service's configuration.";
      return done(new EdgeError("CrossSiteRequest", message));
    }
    void reply
      .headers({
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": REQUEST_HEADERS,
        "Access-Control-Max-Age": PREFLIGHT_AGE_S,
      })
      .code(204)
      .send();
  });
  if (allowed.size === 0) return undefined;
  return (request, reply, done) => {
    const { principal, headers } = request;
    if (principal && headers.origin !== undefined && !origins[principal.accountId]?.includes(headers.origin))
      void reply.removeHeader("Access-Control-Allow-Origin").removeHeader("Access-Control-Expose-Headers");
    done();
  };
}

/** The origins that are allowed for some account. */
export function allowedOf(origins: Readonly<Record<string, readonly string[]>>): ReadonlySet<string> {
  return new Set(Object.values(origins).flat());
}

/** Lets the page read a response if its origin is one of these. Returns whether it is. */
export function sendAllowedOrigin(
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  allowed: ReadonlySet<string>,
): boolean {
  // Caches must not serve one origin's response to another.
  if (allowed.size > 0) void reply.header("Vary", "Origin");
  if (origin === undefined || !allowed.has(origin)) return false;
  void reply.headers({ "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": RESPONSE_HEADERS });
  return true;
}
