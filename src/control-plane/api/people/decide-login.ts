import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { unixNow } from "../../../lib/clock.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import {
  formatUserCode,
  LOGIN_KEY_DEFAULT_DAYS,
  LOGIN_KEY_MAX_DAYS,
  type LoginDecision,
  loginDecisionSchema,
  type LoginRequestBody,
  loginRequestSchema,
  parseUserCode,
} from "../../../protocol/people/login-request.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { auditEntry } from "../../accounts/audit-entry.ts";
import { isWithinLifetime } from "../../core/lifetime.ts";
import { type LoginRequest, rolesUpTo } from "../../core/people/login-request.ts";
import { userCodeHash } from "../../accounts/login-requests.ts";
import { originOf } from "../audit/audit-of.ts";
import { principalOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { userOf } from "./session-resource.ts";
import { WrongCodeLimiter } from "./wrong-code-limiter.ts";

const DAY_S = 24 * 3600;

const params = z.object({
  user_code: z
    .string()
    .max(40)
    .meta({ description: "The code that the program shows; case, spaces and hyphens are ignored." }),
});

type CodeRequest = FastifyRequest<{ Params: z.output<typeof params> }>;

/** Finds the request that a code is of. Errors: `LoginRequestUnknown`, `LoginRequestExpired`, `TooManyRequests` after too many wrong codes. */
type FindLogin = (request: CodeRequest) => Promise<{ readonly code: string; readonly login: LoginRequest }>;

/** What a person is asked to confirm, and the decision: wrong codes count for both together. */
export function decideLogin(api: Api, context: ApiBase): void {
  const find = loginFinder(context);
  getLoginRequest(api, find);
  decideLoginRequest(api, context, find);
}

function loginFinder({ store, clock, observer }: ApiBase): FindLogin {
  const limiter = new WrongCodeLimiter(clock, observer);
  return async (request) => {
    const { id } = principalOf(request);
    limiter.requireAllowed(id);
    const code = parseUserCode(request.params.user_code);
    const login = code === undefined ? undefined : await store.loginRequests.findLoginRequest(userCodeHash(code));
    if (code === undefined || !login) {
      limiter.record(id);
      throw new EdgeError("LoginRequestUnknown");
    }
    if (!isWithinLifetime(login, unixNow(clock))) throw new EdgeError("LoginRequestExpired");
    return { code, login };
  };
}

/** `GET /v1/device-logins/{user_code}`: what a person is asked to confirm. */
function getLoginRequest(api: Api, find: FindLogin): void {
  api.get(
    "/v1/device-logins/:user_code",
    {
      schema: {
        operationId: "getLoginRequest",
        summary: "Get Log-In Request",
        description: "What a program that wants to log in says of itself, and where it is.",
        tags: ["People"],
        params,
        response: {
          200: json("The request.", loginRequestSchema),
          ...errors("LoginRequestUnknown", "LoginRequestExpired"),
        },
      },
    },
    async (request): Promise<LoginRequestBody> => {
      const { code, login } = await find(request);
      return toBody(request, code, login);
    },
  );
}

/** `POST /v1/device-logins/{user_code}`: confirms or denies it. */
function decideLoginRequest(api: Api, { store, clock }: ApiBase, find: FindLogin): void {
  api.post(
    "/v1/device-logins/:user_code",
    {
      schema: {
        operationId: "decideLoginRequest",
        summary: "Decide Log-In Request",
        description:
          "Confirms or denies the log-in of a program. The key is made when the program fetches it; its role is at most that of " +
          "the person, then too.",
        tags: ["People"],
        params,
        body: loginDecisionSchema,
        response: {
          200: json("The request as decided.", loginRequestSchema),
          ...errorsWithBody("LoginRequestUnknown", "LoginRequestExpired", "LoginRequestDecided"),
        },
      },
    },
    async (request): Promise<LoginRequestBody> => {
      const { code, login } = await find(request);
      const { id: userId, role, sessionHash } = userOf(request);
      const at = unixNow(clock);
      const grant = toGrant(request.body, role, at);
      const { clientName, source } = login;
      const { decision } = request.body;
      const audit = auditEntry(originOf(request), clock, {
        action: "login.decided",
        details: {
          decision,
          role: grant?.role,
          expires_at: grant?.expiresAt,
          client_name: clientName,
          client_source: source,
        },
      });
      const result = await store.loginRequests.decideLoginRequest(
        userCodeHash(code),
        { at, userId, sessionHash, grant },
        audit,
      );
      if (result === "signed_out") throw new EdgeError("Unauthorized");
      if (result === "unknown") throw new EdgeError("LoginRequestExpired");
      if (result === "decided_before") throw new EdgeError("LoginRequestDecided");
      return toBody(request, code, { ...login, state: grant ? "approved" : "denied" });
    },
  );
}

function toBody(request: FastifyRequest, code: string, login: LoginRequest): LoginRequestBody {
  return {
    user_code: formatUserCode(code),
    client_name: login.clientName,
    source: login.source ?? null,
    created_at: login.createdAt,
    expires_at: login.expiresAt,
    state: login.state,
    roles: [...rolesUpTo(principalOf(request).role)],
  };
}

/** Errors: `Forbidden` for a role above that of the person, `InvalidRequest` for a time that is not allowed. */
function toGrant(decision: LoginDecision, own: LoginRequestBody["roles"][number], now: number) {
  if (decision.decision === "deny") return undefined;
  const { role, expires_at: until = now + LOGIN_KEY_DEFAULT_DAYS * DAY_S } = decision;
  if (!rolesUpTo(own).includes(role))
    throw new EdgeError("Forbidden", `The key can have at most the role ${own}, which is yours.`, { permission: role });
  if (until !== null && until <= now) throw invalidRequest([{ path: "expires_at", reason: "must be in the future" }]);
  const isLong = until === null || until > now + LOGIN_KEY_MAX_DAYS * DAY_S;
  if (isLong && own !== "admin")
    throw invalidRequest([
      { path: "expires_at", reason: `must be at most ${LOGIN_KEY_MAX_DAYS} days from now, unless an admin confirms` },
    ]);
  return { role, expiresAt: until ?? undefined };
}
