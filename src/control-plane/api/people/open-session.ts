import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { auditEntry } from "../../accounts/audit-entry.ts";
import { BROWSER_COOKIE } from "../../../protocol/people/cookies.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { type SessionBody, sessionSchema } from "../../../protocol/people/principal.ts";
import { type SignInOptions, signInOptionsSchema, signInRequestSchema } from "../../../protocol/people/users.ts";
import { oidcSettingsOf } from "../../config/oidc-config.ts";
import type { Api, ApiContext } from "../context.ts";
import { json, publicErrors, publicErrorsWithBody } from "../docs/responses.ts";
import { clientSignal } from "../stream-signal.ts";
import { signIn } from "./session-resource.ts";

const BROWSER_COOKIE_S = 180 * 24 * 3600;

/** `POST /v1/session`: signs a person in with a password. */
export function createSession(api: Api, context: ApiContext<"accounts">): void {
  const { site, signIns } = context.accounts;
  api.post(
    "/v1/session",
    {
      schema: {
        operationId: "createSession",
        summary: "Sign In",
        description:
          "Signs a person in, for browsers: the response sets the cookie of the session. A session ends 12 " +
          "hours after its last use, 7 days after it began, and when the password, the role or the right to " +
          "sign in changes. Failed attempts make further ones wait.",
        tags: ["People"],
        body: signInRequestSchema,
        response: {
          200: json("The person is signed in.", sessionSchema),
          ...publicErrorsWithBody("SignInFailed", "CrossSiteRequest"),
        },
      },
    },
    async (request, reply): Promise<SessionBody> => {
      const { email, password } = request.body;
      const browserToken = request.cookies[site.cookieName(request, BROWSER_COOKIE)];
      const signal = clientSignal(reply);
      const proof = await signIns.signIn({ email, password, address: request.ip, browserToken, signal });
      if (!proof) {
        // Not awaited: the time of the response would tell which addresses are those of people.
        void recordFailure(context, request, email);
        throw new EdgeError("SignInFailed");
      }
      const body = await signIn(context, request, reply, proof.user, "password");
      site.setCookie(request, reply, BROWSER_COOKIE, proof.browserToken, BROWSER_COOKIE_S);
      return body;
    },
  );
}

/** The text is not stored if no user has this address: it may be a password in the wrong field. Never rejects. */
async function recordFailure(
  { store, clock, accounts }: ApiContext<"accounts">,
  { ip: source }: FastifyRequest,
  email: string,
): Promise<void> {
  // Without the store the failure is recorded without its user.
  const user = await store.users.findUserByEmail(email).catch(() => undefined);
  const actor = { kind: "user", id: user?.id ?? "unknown", ...(user && { name: user.email }) } as const;
  const facts = { action: "session.opened", outcome: "SignInFailed", details: { method: "password" } } as const;
  await accounts.refusals.record(auditEntry({ accountId: user?.accountId ?? "", actor, source }, clock, facts));
}

/** `GET /v1/sign-in`: the ways to sign in. */
export function getSignInOptions(api: Api, { store, accounts, config }: ApiContext<"accounts">): void {
  const oidc = oidcSettingsOf(config);
  api.get(
    "/v1/sign-in",
    {
      schema: {
        operationId: "getSignInOptions",
        summary: "Get Sign-In Options",
        description: "What a page for signing in needs to know.",
        tags: ["People"],
        querystring: z.strictObject({}),
        response: { 200: json("The ways to sign in.", signInOptionsSchema), ...publicErrors() },
      },
    },
    async (request): Promise<SignInOptions> => ({
      set_up: !(await store.users.hasUsers()),
      ...(oidc && { oidc: { name: oidc.name } }),
      secure: accounts.site.keepsCookies(request),
    }),
  );
}
