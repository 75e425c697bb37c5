import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { parseJson } from "../../../lib/parse-json.ts";
import { OIDC_COOKIE } from "../../../protocol/people/cookies.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { userSubject } from "../../accounts/access-watcher.ts";
import type { OidcSignIn } from "../../accounts/oidc/oidc-sign-in.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { publicErrors } from "../docs/responses.ts";
import { toPublicError } from "../errors.ts";
import { signIn } from "./session-resource.ts";

/** How long a person may take at the provider, in seconds. */
export const CHECKS_COOKIE_S = 600;
const SIGN_IN_PAGE = "/sign-in";
const FIRST_PAGE = "/overview";
/** A path of this service, which browsers cannot take for another host. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;

const nextSchema = z.string().max(1_024).regex(OWN_PATH, "must be a path of this service, such as /assets");

/** What the browser keeps while a person is at the provider. */
const keptSchema = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: nextSchema.optional(),
});

function redirect(description: string): Record<303, z.ZodType> {
  return { 303: z.undefined().meta({ description }) };
}

/** `GET /v1/oidc/start`: sends the browser to the identity provider. */
export function startOidc(api: Api, context: ApiContext<"accounts">): void {
  const { site } = context.accounts;
  api.get(
    "/v1/oidc/start",
    {
      schema: {
        operationId: "startOidc",
        summary: "Sign In With Provider",
        description:
          "For browsers: sends the person to the configured OpenID Connect provider. If that does not respond, the browser is sent " +
          "back to the sign-in page, with the code of the error in `failure`.",
        tags: ["People"],
        querystring: z.strictObject({
          next: nextSchema
            .optional()
            .meta({ description: "Page of the console to open afterwards.", examples: ["/assets"] }),
        }),
        response: {
          ...redirect("To the provider, or back to the sign-in page."),
          ...publicErrors("NotFound", "CrossSiteRequest"),
        },
      },
    },
    async (request, reply) => {
      const oidc = requireOidc(context);
      // Images and scripts of pages have no business here. Browsers send both headers.
      const { "sec-fetch-site": from, "sec-fetch-mode": mode } = request.headers;
      if (from !== undefined && mode !== "navigate") throw new EdgeError("CrossSiteRequest");
      return withFailurePage(context, request, reply, async () => {
        const { url, checks } = await oidc.begin();
        const kept: z.output<typeof keptSchema> = { ...checks, ...request.query };
        const value = Buffer.from(JSON.stringify(kept)).toString("base64url");
        site.setCookie(request, reply, OIDC_COOKIE, value, CHECKS_COOKIE_S);
        return url.href;
      });
    },
  );
}

/** `GET /v1/oidc/callback`: signs in the person that the identity provider sends back. */
export function finishOidc(api: Api, context: ApiContext<"accounts">): void {
  const { site, access } = context.accounts;
  api.get(
    "/v1/oidc/callback",
    {
      schema: {
        operationId: "finishOidc",
        summary: "Return From Provider",
        description:
          "For browsers: where the OpenID Connect provider sends people back to. Sets the cookie of the session and opens the " +
          "console, or the sign-in page with the code of the error in `failure` and its reason in `reason`.",
        tags: ["People"],
        querystring: z
          .looseObject({
            state: z.string().optional().meta({ description: "The sign-in that the provider has ended." }),
          })
          .meta({ description: "What OpenID Connect defines." }),
        response: {
          ...redirect("To the console, or back to the sign-in page."),
          ...publicErrors("NotFound"),
        },
      },
    },
    async (request, reply) => {
      const oidc = requireOidc(context);
      const kept = readKept(request.cookies[site.cookieName(request, OIDC_COOKIE)]);
      // Used once, whatever comes of it.
      site.setCookie(request, reply, OIDC_COOKIE, "", 0);
      return withFailurePage(context, request, reply, async () => {
        if (!kept || kept.state !== request.query.state)
          throw new EdgeError("OidcFailed", undefined, { reason: "state" });
        const query = request.url.slice(request.url.indexOf("?"));
        const user = await oidc.finish(query, kept, request.ip);
        await signIn(context, request, reply, user, "oidc");
        // Its role may have changed.
        await access.recheck(userSubject(user.id));
        return kept.next ?? FIRST_PAGE;
      });
    },
  );
}

function requireOidc({ accounts: { oidc } }: ApiContext<"accounts">): OidcSignIn {
  if (!oidc) throw new EdgeError("NotFound", "No identity provider is configured.");
  return oidc;
}

/** Redirects to where the sign-in leads. A person who fails sees the sign-in page, not JSON. */
async function withFailurePage(
  { logger }: ApiBase,
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Promise<string>,
): Promise<FastifyReply> {
  try {
    return reply.redirect(await run(), 303);
  } catch (error) {
    const { code, details } = toPublicError(error, request, logger);
    const { reason } = details ?? {};
    const query = new URLSearchParams({ failure: code, ...(typeof reason === "string" && { reason }) });
    return reply.redirect(`${SIGN_IN_PAGE}?${query.toString()}`, 303);
  }
}

function readKept(cookie: string | undefined): z.output<typeof keptSchema> | undefined {
  if (cookie === undefined) return undefined;
  return keptSchema.safeParse(parseJson(Buffer.from(cookie, "base64url"), "short")).data;
}
