import { fastify, type FastifyRequest, type onRequestHookHandler } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { ZodType } from "zod";
import { unixNow } from "../../lib/clock.ts";
import { BROWSER_COOKIE } from "../../protocol/people/cookies.ts";
import { MAX_REQUEST_BYTES } from "../../protocol/limits.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import cookie from "@fastify/cookie";
import { MAX_TOKEN_LENGTH } from "../accounts/sign-in-gate.ts";
import { hashSecret } from "../accounts/secrets.ts";
import { parseTrustedProxies } from "../config/trusted-proxies.ts";
import { refuseUnknownAddresses } from "./addresses.ts";
import { recordRefusals } from "./audit/record-refusals.ts";
import { authenticate, authenticateAgain, challenge, principalOf } from "./auth.ts";
import { requirePlainHttp, respondToClientErrors, respondToExpectations } from "./client-error.ts";
import { tagReads } from "./conditional-requests.ts";
import { serveConsole } from "./console/serve-console.ts";
import type { Api, ApiBase, ApiContext, Route } from "./context.ts";
import { allowedOf, allowOrigins, sendAllowedOrigin } from "./cors.ts";
import { jsonErrorHandler, validateBy } from "./errors.ts";
import { serveOpenApi } from "./docs/openapi.ts";
import { serveReferencePage } from "./docs/reference-page.ts";
import { health } from "./health.ts";
import { closeUntaken, limitRate, logRequest, observeRequest } from "./hooks.ts";
import { ignoreContentTypeOfEmptyBody, refuseBody, requireEmptyBody, takesBody } from "./no-body.ts";
import { parseBody } from "./json-body.ts";
import { rememberRequests } from "./idempotent-requests.ts";
import { leaveRefusedBodies } from "./refused-bodies.ts";
import { Pacing } from "./pacing.ts";
import { carryQueries } from "./paging.ts";
import { serveReleases } from "./releases/serve-releases.ts";
import { requireFieldPermissions, requirePermission } from "./people/require-permission.ts";
import { requestIds, sendRequestId } from "./request-id.ts";
import type { Site } from "./site.ts";
import { STALL_TIMEOUT_MS } from "./stream-limiter.ts";
import { trackPermissions } from "./permission-table.ts";
import type { Bound } from "../metrics/observer.ts";
import { ignoreEmptyEventId } from "./resume-stream.ts";
import { CODE_ROUTES, ROUTES, SIGN_IN_ROUTES } from "./routes.ts";
import { SharedRateCounter } from "./shared-rate-store.ts";
import {
  refuseMisplacedQuery,
  refuseUnknownHeaders,
  refuseUnknownQueries,
  requirePlainUtf8,
} from "./strict-requests.ts";

/** How long a client may take to send a request and to take the response, in milliseconds. */
export interface RequestTimes {
  readonly headersMs: number;
  /** With the body. */
  readonly requestMs: number;
  /** Pause between two checks of all connections. */
  readonly checkMs: number;
  /** For how long it may take nothing of a response. */
  readonly stallMs: number;
}

const REQUEST_TIMES: RequestTimes = { headersMs: 15_000, requestMs: 30_000, checkMs: 5_000, stallMs: STALL_TIMEOUT_MS };
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const CONNECTION_TIMEOUT_MS = 180_000;
const RETRY_AFTER_S = 5;
const MAX_HEADER_BYTES = 16 * 1024;

/** Builds the HTTP API with all its endpoints. The caller makes it listen. */
export async function buildServer(context: ApiContext, times: RequestTimes = REQUEST_TIMES): Promise<Api> {
  const { config, logger, clock, observer } = context;
  const onError = jsonErrorHandler(logger);
  const newId = requestIds();
  const clientErrorHandler = respondToClientErrors(logger, () => newId({ headers: {} }));
  const api = openServer({ config, times, onError, newId, clientErrorHandler });
  respondToExpectations(api.server, logger, newId);
  const pacing = new Pacing({ perMinute: config.rate_limit_per_minute, clock, observer });
  acceptJsonOnly(api, pacing);
  refuseUnknownQueries(api);
  carryQueries(api);
  tagReads(api);
  api.addHook("onRequest", sendRequestId);
  api.addHook("onRequest", requirePlainHttp);
  const keepOrigins = allowOrigins(api, config.cors_origins);
  refuseUnknownAddresses(api);
  api.addHook("onSend", challenge);
  api.addHook("onSend", leaveRefusedBodies(clock));
  api.addHook("onSend", closeUntaken(times.stallMs));
  api.setValidatorCompiler<ZodType>(({ schema, httpPart }) => validateBy(schema, httpPart));
  // Types and tests keep responses to their schemas, so they are not validated again at run time.
  api.setSerializerCompiler(() => (data) => JSON.stringify(data));
  api.setErrorHandler(onError);
  api.decorateRequest("principal", undefined);
  await api.register(cookie);
  api.addHook("onResponse", logRequest(logger));
  if (observer) api.addHook("onResponse", observeRequest(observer));
  const requirePermissions = trackPermissions(api);
  await serveOpenApi(api);
  serveReferencePage(api);
  health(api, context);
  await api.register(async (scope) => serveOpen(scope as Api, context, pacing, codeEndpoints(context)));
  await api.register(async (scope) => serveOpen(scope as Api, context, pacing, signInEndpoints(context)));
  await api.register(async (scope) => servePrincipals(scope as Api, context, pacing, keepOrigins));
  await api.register(async (scope) => {
    scope.addHook("onRequest", setResponseHeaders);
    scope.addHook("onRequest", refuseWhile(context.stopping));
    serveReleases(scope, context);
  });
  requirePermissions();
  // After the check: pages need no principal, and some have the paths of the legacy API.
  await serveConsole(api, logger);
  return api;
}

interface ServerParts {
  readonly config: ApiBase["config"];
  readonly times: RequestTimes;
  readonly onError: ReturnType<typeof jsonErrorHandler>;
  readonly newId: ReturnType<typeof requestIds>;
  readonly clientErrorHandler: ReturnType<typeof respondToClientErrors>;
}

function openServer({ config, times, onError, newId, clientErrorHandler }: ServerParts): Api {
  const origins = allowedOf(config.cors_origins);
  return fastify({
    logger: false,
    trustProxy: parseTrustedProxies(config.trusted_proxies),
    bodyLimit: MAX_REQUEST_BYTES,
    requestTimeout: times.requestMs,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Longer than the keep-alive of a stream and than its stall timeout, which is logged.
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    http: {
      headersTimeout: times.headersMs,
      connectionsCheckingInterval: times.checkMs,
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false,
      // Other upgrades, such as h2c, are ignored: the request is served over HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    },
    genReqId: newId,
    // The headers' size limits it already. An identifier that is too long matches no asset.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    clientErrorHandler,
    // Hooks are not called for them.
    frameworkErrors: (error, request, reply) => {
      sendAllowedOrigin(request, reply, origins);
      sendRequestId(request, reply, () => onError(error, request, reply));
    },
  }).withTypeProvider<ZodTypeProvider>();
}

interface OpenEndpoints {
  readonly routes: readonly Route[];
  readonly perMinute: number;
  readonly keyOf: (request: FastifyRequest) => string | Promise<string>;
  readonly bound: Bound;
  /** Name of the counter that instances share. */
  readonly counter: string;
}

/** The endpoints for a code that a person types, such as of an enrolment. They count for the address. */
function codeEndpoints({ config }: ApiBase): OpenEndpoints {
  const perMinute = config.enrolment_rate_limit_per_minute;
  return {
    routes: CODE_ROUTES,
    perMinute,
    keyOf: ({ ip }) => ip,
    bound: "enrolments_per_address",
    counter: "enrolments",
  };
}

/** The endpoints with which people sign in. */
function signInEndpoints(context: ApiContext<"accounts">): OpenEndpoints {
  return {
    routes: SIGN_IN_ROUTES,
    perMinute: context.config.rate_limit_per_minute,
    keyOf: signInKeyOf(context),
    bound: "sign_in_requests_per_address",
    counter: "sign-in-requests",
  };
}

/** Endpoints that need no principal. */
async function serveOpen(
  endpoints: Api,
  context: ApiContext,
  pacing: Pacing,
  { routes, perMinute, keyOf, bound, counter }: OpenEndpoints,
): Promise<void> {
  const { clock, observer, stopping, accounts } = context;
  const { counts } = context.instance;
  endpoints.addHook("onRequest", setResponseHeaders);
  endpoints.addHook("onRequest", refuseWhile(stopping));
  await limitRate(endpoints, {
    perMinute,
    keyOf,
    onExceeded: () => observer?.bounded(bound),
    shared: counts && new SharedRateCounter(counter, perMinute, counts, clock),
  });
  requireOwnPages(endpoints, accounts.site);
  refuseUndeclared(endpoints);
  chargeValidation(endpoints, pacing);
  for (const route of routes) route(endpoints, context);
}

/** All other endpoints: they need a principal with permissions. */
async function servePrincipals(
  endpoints: Api,
  context: ApiContext,
  pacing: Pacing,
  keepOrigins: onRequestHookHandler | undefined,
): Promise<void> {
  const { config, store, clock, observer, stopping } = context;
  const { principals, site } = context.accounts;
  const { counts } = context.instance;
  endpoints.addHook("onRequest", setResponseHeaders);
  endpoints.addHook("onRequest", authenticate(principals, site, pacing));
  if (keepOrigins) endpoints.addHook("onRequest", keepOrigins);
  endpoints.addHook("onRequest", async (request) => {
    if (request.principal?.kind === "user") site.requireOwnPage(request);
  });
  endpoints.addHook("onError", recordRefusals(context));
  endpoints.addHook("onRequest", requirePermission(store));
  const again = authenticateAgain(principals, clock);
  endpoints.addHook("onRequest", again.afterHead);
  endpoints.addHook("preValidation", again.afterBody);
  endpoints.addHook("preValidation", requireFieldPermissions(store));
  refuseUndeclared(endpoints);
  endpoints.addHook("onRequest", refuseWhile(stopping));
  const perMinute = config.rate_limit_per_minute;
  await limitRate(endpoints, {
    perMinute,
    keyOf: (request) => principalOf(request).id,
    onExceeded: () => observer?.bounded("requests_per_key"),
    shared: counts && new SharedRateCounter("requests", perMinute, counts, clock),
  });
  chargeValidation(endpoints, pacing);
  rememberRequests(endpoints, context);
  for (const route of ROUTES) route(endpoints, context);
}

function refuseWhile(stopping: AbortSignal): onRequestHookHandler {
  return (_request, reply, done) => {
    if (!stopping.aborted) return done();
    void reply.header("Retry-After", RETRY_AFTER_S);
    done(new EdgeError("ServiceUnavailable", "The service is stopping."));
  };
}

/** Unknown fields and query parameters are refused by the schemas. */
function refuseUndeclared(endpoints: Api): void {
  endpoints.addHook("preValidation", refuseMisplacedQuery);
  endpoints.addHook("preValidation", refuseUnknownHeaders);
  endpoints.addHook("preValidation", refuseBody);
  endpoints.addHook("preValidation", ignoreEmptyEventId);
}

function chargeValidation(endpoints: Api, pacing: Pacing): void {
  endpoints.addHook("preValidation", async (request) => pacing.beginValidation(request));
  endpoints.addHook("preHandler", async (request) => pacing.endValidation(request));
  endpoints.addHook("onError", async (request) => pacing.endValidation(request));
}

/** All endpoints accept JSON only. */
function acceptJsonOnly(api: Api, pacing: Pacing): void {
  api.removeAllContentTypeParsers();
  api.addHook("onRequest", ignoreContentTypeOfEmptyBody);
  api.addContentTypeParser("*", requireEmptyBody);
  api.addContentTypeParser("application/json", { parseAs: "buffer" }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0 && !takesBody(request)) return undefined;
    requirePlainUtf8(request);
    return pacing.readBody(request, body.length, () => parseBody(body));
  });
}

/**
 * Requests of a browser in which a person has signed in count for it alone, so that a neighbour of the same address cannot use
 * up what there is. Others count for their address, whatever they send.
 */
function signInKeyOf({
  store,
  clock,
  accounts: { site },
}: ApiContext<"accounts">): (request: FastifyRequest) => Promise<string> {
  return async (request) => {
    const token = request.cookies[site.cookieName(request, BROWSER_COOKIE)];
    if (token === undefined || token.length > MAX_TOKEN_LENGTH) return request.ip;
    const hash = hashSecret(token);
    // Without the store a sign-in is impossible, so no request needs more.
    const isKnown = await store.browsers.isKnownToAnyone(hash, unixNow(clock)).catch(() => false);
    return isKnown ? `browser ${Buffer.from(hash).toString("base64url")}` : request.ip;
  };
}

/** Refuses what a page of another site sends, such as a form that makes a person use the attacker's account. */
function requireOwnPages(api: Api, site: Site): void {
  api.addHook("onRequest", async (request) => site.requireNoOtherPage(request));
}

/** Forbids caching and content sniffing. Event streams set their own `Cache-Control`. */
const setResponseHeaders: onRequestHookHandler = (_request, reply, done) => {
  void reply.header("Cache-Control", "no-store").header("X-Content-Type-Options", "nosniff");
  done();
};
