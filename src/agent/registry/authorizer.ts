import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { registryHost } from "./address.ts";
import { maySendCredentials } from "../../lib/registry/credential-scope.ts";
import { type Challenge, parseChallenges } from "../../lib/registry/challenge.ts";
import { readBody } from "../../lib/registry/read-body.ts";
import { pageInstead } from "./foreign-answer.ts";
import { RegistryError } from "./registry-error.ts";
import type { RegistryResponse, RegistryHttp } from "./registry-http.ts";
import type { RegistryAuth } from "./registry.ts";
import { authSecrets } from "./auth-secrets.ts";
import { toResponseError, toRegistryError } from "./to-registry-error.ts";
import type { RegistryHttpResponse, RegistryHttpRequest } from "./transport.ts";

/** The repository to read and the credentials to use. */
export interface Access {
  readonly registry: string;
  /** Left out for a request to the registry itself. */
  readonly repository?: string | undefined;
  readonly auth: RegistryAuth | undefined;
}

interface Grant {
  readonly header: string;
  /** Monotonic milliseconds. */
  readonly until: number;
}

const tokenSchema = z.object({
  token: z.string().min(1).optional(),
  access_token: z.string().min(1).optional(),
  expires_in: z.number().optional(),
});

/** Default of the token specification. */
const DEFAULT_TOKEN_TTL_S = 60;
/** A token is not used in its last seconds, since the request takes time to arrive. */
const EXPIRY_MARGIN_MS = 5_000;
const MAX_TOKEN_BYTES = 65_536;
const MAX_GRANTS = 64;

/** Authenticates to registries: answers challenges, fetches tokens and caches them. */
export class Authorizer {
  readonly #http: RegistryHttp;
  readonly #clock: Clock;
  readonly #grants = new Map<string, Grant>();

  constructor(http: RegistryHttp, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  /** Returns the cached `Authorization` header, if there is one that has not expired. */
  cachedHeader(access: Access): string | undefined {
    if (access.auth?.kind === "token") return `Bearer ${access.auth.token}`;
    const grant = this.#grants.get(keyOf(access));
    return grant && grant.until > this.#clock.monotonic() ? grant.header : undefined;
  }

  /**
   * Returns a new `Authorization` header for the challenge of a 401.
   *
   * @param refusal the 401 of the registry itself, never of a redirect's target
   * @throws RegistryError of kind `image_denied` if there are no suitable credentials, and `refused_target` if the registry
   *   names a token server that must not be contacted
   */
  async authenticate(refusal: RegistryResponse, access: Access, signal: AbortSignal): Promise<string> {
    const { registry, auth } = access;
    this.#grants.delete(keyOf(access));
    const challenges = parseChallenges(refusal.headers["www-authenticate"]);
    const bearer = challenges.find(({ scheme, parameters }) => scheme === "bearer" && parameters["realm"]);
    if (auth?.kind === "token") throw denied(`${registry} refuses the token it was shown`);
    if (bearer) return this.#keep(access, await this.#fetchToken(bearer, refusal, access, signal));
    if (!challenges.some(({ scheme }) => scheme === "basic")) {
      const offered = challenges.map(({ scheme }) => scheme).join(", ") || "nothing";
      throw new RegistryError("unsupported", `${registry} wants to be authenticated to with ${offered}`);
    }
    if (auth?.kind !== "basic") throw denied(`${registry} wants a user name and a password, and none are known for it`);
    return this.#keep(access, { header: basic(auth.username, auth.password), until: Number.POSITIVE_INFINITY });
  }

  #keep(access: Access, grant: Grant): string {
    const now = this.#clock.monotonic();
    for (const [key, { until }] of this.#grants) if (until <= now) this.#grants.delete(key);
    const [oldest] = this.#grants.keys();
    if (this.#grants.size >= MAX_GRANTS && oldest !== undefined) this.#grants.delete(oldest);
    this.#grants.set(keyOf(access), grant);
    return grant.header;
  }

  async #fetchToken(
    challenge: Challenge,
    { forbiddenAddresses }: RegistryResponse,
    access: Access,
    signal: AbortSignal,
  ): Promise<Grant> {
    const requestedAt = this.#clock.monotonic();
    const request = await this.#tokenRequest(challenge, access, signal);
    const response = await this.#http.send({ ...request, forbiddenAddresses }, signal);
    if (response.status !== 200) throw await tokenRefusal(response, access, this.#clock);
    const { token, access_token: accessToken, expires_in: seconds } = await this.#readToken(response, signal);
    const header = `Bearer ${token ?? accessToken ?? ""}`;
    return { header, until: requestedAt + Math.max(1, seconds ?? DEFAULT_TOKEN_TTL_S) * 1000 - EXPIRY_MARGIN_MS };
  }

  async #tokenRequest(challenge: Challenge, access: Access, signal: AbortSignal): Promise<RegistryHttpRequest> {
    const { realm = "", service, scope } = challenge.parameters;
    const { registry, repository, auth } = access;
    const trust = await this.#http.trustOf(registry, signal);
    const url = URL.parse(realm);
    if (!url || !/^https?:$/.test(url.protocol)) {
      throw new RegistryError("unsupported", `${registry} names a token server that has no address`);
    }
    if (url.protocol === "http:" && !trust.insecure) {
      throw new RegistryError("refused_target", `${registry} names a token server without TLS: ${url.host}`);
    }
    if (auth && !maySendCredentials(registryHost(registry), url, trust.authHosts ?? []))
      throw untrustedTokenServerError(registry, url);
    const fields = new URLSearchParams();
    if (service !== undefined) fields.set("service", service);
    const defaultScope = repository === undefined ? "" : `repository:${repository}:pull`;
    const scopes = (scope ?? defaultScope).split(" ").filter((one) => one !== "");
    if (auth?.kind === "identity") {
      fields.set("grant_type", "refresh_token");
      fields.set("refresh_token", auth.identityToken);
      fields.set("client_id", "edge-agent");
      if (scopes.length > 0) fields.set("scope", scopes.join(" "));
      const headers = { "Content-Type": "application/x-www-form-urlencoded" };
      return { method: "POST", url, headers, body: fields.toString(), trust };
    }
    for (const [name, value] of fields) url.searchParams.set(name, value);
    for (const one of scopes) url.searchParams.append("scope", one);
    if (auth?.kind !== "basic") return { method: "GET", url, headers: {}, trust };
    url.searchParams.set("account", auth.username);
    return { method: "GET", url, headers: { Authorization: basic(auth.username, auth.password) }, trust };
  }

  async #readToken(response: RegistryHttpResponse, signal: AbortSignal): Promise<z.output<typeof tokenSchema>> {
    try {
      const options = { clock: this.#clock, maxBytes: MAX_TOKEN_BYTES, stallMs: 15_000 };
      const page = pageInstead(response);
      if (page) throw page;
      const parsed = tokenSchema.safeParse(parseJson(await readBody(response.body, options), "short")).data;
      if (parsed?.token !== undefined || parsed?.access_token !== undefined) return parsed;
    } catch (error) {
      signal.throwIfAborted();
      throw toRegistryError(error, response.url.host, this.#clock);
    }
    throw new RegistryError("unsupported", `the token server ${response.url.host} returned no token`);
  }
}

async function tokenRefusal(
  response: RegistryHttpResponse,
  { registry, auth }: Access,
  clock: Clock,
): Promise<RegistryError> {
  const { status, url } = response;
  if (status !== 400 && status !== 401 && status !== 403)
    return await toResponseError(response, clock, authSecrets(auth));
  response.body.destroy();
  return auth
    ? denied(`${url.host} refuses the user name, password or token for ${registry} (HTTP ${status})`)
    : denied(`${registry} wants credentials, and none are known for it (HTTP ${status})`);
}

function denied(message: string): RegistryError {
  return new RegistryError("image_denied", message);
}

function untrustedTokenServerError(registry: string, { host }: URL): RegistryError {
  const next = `where that is right, list ${host} in auth_hosts of its entry in registries`;
  return new RegistryError(
    "refused_target",
    `${registry} names a token server that its credentials are not shown to: ${host}; ${next}`,
  );
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

function keyOf({ registry, repository, auth }: Access): string {
  return JSON.stringify([registry, repository, auth]);
}
