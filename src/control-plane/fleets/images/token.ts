import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { parseJson } from "../../../lib/parse-json.ts";
import { type Challenge, parseChallenges } from "../../../lib/registry/challenge.ts";
import { maySendCredentials } from "../../../lib/registry/credential-scope.ts";
import { readBody } from "../../../lib/registry/read-body.ts";
import type { RegistryAuth } from "../../../protocol/deploy-request.ts";
import type { GuardedHttp } from "./guarded-http.ts";
import { ResolutionFailure } from "./resolution-failure.ts";

/** What a header `Authorization` is wanted for. */
export interface Access {
  readonly registry: URL;
  readonly repository: string;
  readonly auth: RegistryAuth | undefined;
}

export interface TokenOptions {
  readonly http: GuardedHttp;
  readonly clock: Clock;
}

const tokenSchema = z
  .object({ token: z.string().min(1).optional(), access_token: z.string().min(1).optional() })
  .transform(({ token, access_token: accessToken }) => token ?? accessToken);

const MAX_TOKEN_BYTES = 65_536;
const STALL_MS = 5_000;

/**
 * Returns the `Authorization` header for the challenges of a registry's 401.
 *
 * @param challenges header `WWW-Authenticate` of the registry itself, never of a redirect's target
 * @throws ResolutionFailure if the credentials do not suffice, or must not be shown to the token server
 */
export async function authorize(
  challenges: string | undefined,
  access: Access,
  { http, clock }: TokenOptions,
  signal: AbortSignal,
): Promise<string> {
  const { registry, auth } = access;
  const basic = auth && "username" in auth ? basicHeader(auth.username, auth.password) : undefined;
  const offered = parseChallenges(challenges);
  const bearer = offered.find(({ scheme, parameters }) => scheme === "bearer" && parameters["realm"]);
  if (auth && basic === undefined) throw denied(registry, auth);
  if (!bearer) {
    if (basic !== undefined && offered.some(({ scheme }) => scheme === "basic")) return basic;
    throw denied(registry, auth);
  }
  const url = tokenUrl(bearer, access);
  const headers = basic === undefined ? {} : { Authorization: basic };
  const { status, body } = await http.send({ registry, method: "GET", url, headers }, signal);
  if (status !== 200) {
    body.destroy();
    if ([400, 401, 403].includes(status)) throw denied(registry, auth);
    throw new ResolutionFailure(
      "unreachable",
      `the token server ${url.host} responds with HTTP ${status}; try again later`,
    );
  }
  const bytes = await readBody(body, { clock, maxBytes: MAX_TOKEN_BYTES, stallMs: STALL_MS });
  const token = tokenSchema.safeParse(parseJson(bytes, "short")).data;
  // Printable ASCII: anything else is not valid in a header.
  if (token === undefined || !/^[\x21-\x7e]+$/.test(token))
    throw new ResolutionFailure("invalid_response", `the token server ${url.host} returns no token`);
  return `Bearer ${token}`;
}

export function denied({ host }: URL, auth: RegistryAuth | undefined): ResolutionFailure {
  const message = auth
    ? `${host} refuses the credentials in registry_auth for this image; check them, and that they may pull it`
    : `${host} wants credentials for this image, or has no such image; send registry_auth, or check the name`;
  return new ResolutionFailure("denied", message);
}

function tokenUrl({ parameters }: Challenge, { registry, repository, auth }: Access): URL {
  const { realm = "", service, scope = `repository:${repository}:pull` } = parameters;
  const url = URL.parse(realm);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new ResolutionFailure("invalid_response", `${registry.host} names a token server that has no address`);
  url.username = "";
  url.password = "";
  if (auth && !maySendCredentials(registry.host, url, [])) {
    const message = `${registry.host} names the token server ${url.host}, which registry_auth is not shown to; write the image with its digest`;
    throw new ResolutionFailure("foreign_token_server", message);
  }
  if (auth && registry.protocol === "https:" && url.protocol === "http:")
    throw new ResolutionFailure("no_tls", `${registry.host} names a token server without TLS: ${url.host}`);
  if (service !== undefined) url.searchParams.set("service", service);
  for (const one of scope.split(" ").filter((text) => text !== "")) url.searchParams.append("scope", one);
  if (auth && "username" in auth) url.searchParams.set("account", auth.username);
  return url;
}

function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
