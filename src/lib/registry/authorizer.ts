import { z } from "zod";
import type { Clock } from "../clock.ts";
import { parseJson } from "../parse-json.ts";
import { registryHost } from "./address.ts";
import { type Challenge, parseChallenges } from "./challenge.ts";
import { maySendCredentials } from "./credential-scope.ts";
import { pageInstead } from "./foreign-answer.ts";
import { discard, type FollowedResponse, type RegistryRequest, type RegistryResponse } from "./http.ts";
import { basicHeader } from "./login.ts";
import type { RegistryAccess, RegistryErrors } from "./problem.ts";
import { readBody } from "./read-body.ts";

export interface TokenRequest extends RegistryRequest {
  readonly method: "GET" | "POST";
  readonly body?: string;
}

/** Which token servers a registry may name. */
export interface TokenServerRules {
  readonly mayBePlain: boolean;
  /** Further hosts that may get the registry's credentials, with a port or for all ports. */
  readonly authHosts?: readonly string[] | undefined;
}

/** How a program reaches the token servers that registries name. */
export interface TokenServers<R extends FollowedResponse> {
  /** @param refusal the registry's own 401 */
  rules(access: RegistryAccess, refusal: R, signal: AbortSignal): TokenServerRules | Promise<TokenServerRules>;
  send(request: TokenRequest, access: RegistryAccess, refusal: R, signal: AbortSignal): Promise<RegistryResponse>;
}

export interface AuthorizerOptions<R extends FollowedResponse> {
  readonly clock: Clock;
  readonly tokenServers: TokenServers<R>;
  readonly errors: RegistryErrors;
  /** Name of the program, which token servers ask for. */
  readonly clientId: string;
  /** Maximum time without data of a token server, in milliseconds. Default 15 s. */
  readonly stallMs?: number;
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

/** Anything but printable ASCII is not valid in a header. */
const TOKEN = /^[\x21-\x7e]+$/;
/** Default of the token specification. */
const DEFAULT_TOKEN_TTL_S = 60;
/** A token is not used in its last seconds, since the request takes time to arrive. */
const EXPIRY_MARGIN_MS = 5_000;
const DEFAULT_STALL_MS = 15_000;
const MAX_TOKEN_BYTES = 65_536;
const MAX_GRANTS = 64;

/** Authenticates to registries: answers challenges, fetches tokens and caches them. */
export class Authorizer<R extends FollowedResponse> {
  readonly #options: AuthorizerOptions<R>;
  readonly #grants = new Map<string, Grant>();

  constructor(options: AuthorizerOptions<R>) {
    this.#options = options;
  }

  /**
   * Sends a request, with the cached authorization or that of the credentials. Answers the registry's challenge and sends it again
   * then, once. Resolves with the last response, whatever its status.
   *
   * @param send sends the request with a header `Authorization`
   */
  async send(
    access: RegistryAccess,
    send: (authorization: string | undefined) => Promise<R>,
    signal: AbortSignal,
  ): Promise<R> {
    const response = await send(this.#cachedHeader(access));
    // Only the registry's own challenge is answered: a redirect's target could collect credentials.
    if (response.status !== 401 || response.isCrossOrigin || response.headers["www-authenticate"] === undefined)
      return response;
    discard(response);
    return await send(await this.#authenticate(response, access, signal));
  }

  #cachedHeader(access: RegistryAccess): string | undefined {
    if (access.login?.kind === "token") return `Bearer ${access.login.token}`;
    const grant = this.#grants.get(keyOf(access));
    return grant && grant.until > this.#options.clock.monotonic() ? grant.header : undefined;
  }

  async #authenticate(refusal: R, access: RegistryAccess, signal: AbortSignal): Promise<string> {
    const { errors } = this.#options;
    const { login } = access;
    this.#grants.delete(keyOf(access));
    const challenges = parseChallenges(refusal.headers["www-authenticate"]);
    const bearer = challenges.find(({ scheme, parameters }) => scheme === "bearer" && parameters["realm"]);
    if (login?.kind === "token") throw errors.problem({ kind: "token_refused", access });
    if (bearer) return this.#keep(access, await this.#fetchToken(bearer, refusal, access, signal));
    if (!challenges.some(({ scheme }) => scheme === "basic")) {
      const offered = challenges.map(({ scheme }) => scheme).join(", ") || "nothing";
      throw errors.problem({ kind: "unknown_schemes", access, offered });
    }
    if (login?.kind !== "basic") throw errors.problem({ kind: "password_required", access });
    const header = basicHeader(login.username, login.password);
    return this.#keep(access, { header, until: Number.POSITIVE_INFINITY });
  }

  #keep(access: RegistryAccess, grant: Grant): string {
    const now = this.#options.clock.monotonic();
    for (const [key, { until }] of this.#grants) if (until <= now) this.#grants.delete(key);
    const [oldest] = this.#grants.keys();
    if (this.#grants.size >= MAX_GRANTS && oldest !== undefined) this.#grants.delete(oldest);
    this.#grants.set(keyOf(access), grant);
    return grant.header;
  }

  async #fetchToken(challenge: Challenge, refusal: R, access: RegistryAccess, signal: AbortSignal): Promise<Grant> {
    const { clock, tokenServers, errors, clientId } = this.#options;
    const requestedAt = clock.monotonic();
    const rules = await tokenServers.rules(access, refusal, signal);
    const server = this.#tokenServer(challenge, access, rules);
    const request = tokenRequest(server, challenge, access, clientId);
    const response = await tokenServers.send(request, access, refusal, signal);
    const { status, url, body } = response;
    if (status === 400 || status === 401 || status === 403) {
      body.destroy();
      throw errors.problem({ kind: "token_denied", access, host: url.host, status });
    }
    if (status !== 200) throw await errors.response(response, access);
    const { token, seconds } = await this.#readToken(response, access, signal);
    const ttlMs = Math.max(1, seconds ?? DEFAULT_TOKEN_TTL_S) * 1000 - EXPIRY_MARGIN_MS;
    return { header: `Bearer ${token}`, until: requestedAt + ttlMs };
  }

  #tokenServer({ parameters }: Challenge, access: RegistryAccess, rules: TokenServerRules): URL {
    const { errors } = this.#options;
    const url = URL.parse(parameters["realm"] ?? "");
    if (!url || !/^https?:$/.test(url.protocol)) throw errors.problem({ kind: "token_server_invalid", access });
    const { host } = url;
    if (url.protocol === "http:" && !rules.mayBePlain)
      throw errors.problem({ kind: "token_server_without_tls", access, host });
    if (access.login && !maySendCredentials(registryHost(access.registry), url, rules.authHosts ?? []))
      throw errors.problem({ kind: "token_server_foreign", access, host });
    // Would be sent as an Authorization header.
    url.username = "";
    url.password = "";
    return url;
  }

  async #readToken(response: RegistryResponse, access: RegistryAccess, signal: AbortSignal) {
    const { clock, errors, stallMs = DEFAULT_STALL_MS } = this.#options;
    const { host } = response.url;
    const page = pageInstead(response);
    if (page) throw errors.problem(page);
    const bytes = await readBody(response.body, { clock, maxBytes: MAX_TOKEN_BYTES, stallMs }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw errors.transfer(error, host);
      },
    );
    const parsed = tokenSchema.safeParse(parseJson(bytes, "short")).data;
    const token = parsed?.token ?? parsed?.access_token;
    if (token === undefined || !TOKEN.test(token)) throw errors.problem({ kind: "no_token", access, host });
    return { token, seconds: parsed?.expires_in };
  }
}

function tokenRequest(
  url: URL,
  { parameters }: Challenge,
  { repository, login, action = "pull" }: RegistryAccess,
  clientId: string,
): TokenRequest {
  const { service, scope } = parameters;
  const actions = action === "push" ? "pull,push" : "pull";
  const defaultScope = repository === undefined ? "" : `repository:${repository}:${actions}`;
  const scopes = (scope ?? defaultScope).split(" ").filter((one) => one !== "");
  if (login?.kind === "identity") {
    const fields = new URLSearchParams({ grant_type: "refresh_token", refresh_token: login.identityToken });
    fields.set("client_id", clientId);
    if (service !== undefined) fields.set("service", service);
    if (scopes.length > 0) fields.set("scope", scopes.join(" "));
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    return { method: "POST", url, headers, body: fields.toString() };
  }
  if (service !== undefined) url.searchParams.set("service", service);
  for (const one of scopes) url.searchParams.append("scope", one);
  if (login?.kind !== "basic") return { method: "GET", url, headers: {} };
  url.searchParams.set("account", login.username);
  return { method: "GET", url, headers: { Authorization: basicHeader(login.username, login.password) } };
}

function keyOf({ registry, repository, login, action = "pull" }: RegistryAccess): string {
  return JSON.stringify([registry, repository, login, action]);
}
