import { readFile } from "node:fs/promises";
import * as client from "openid-client";
import type { Clock } from "../../../lib/clock.ts";
import { readResponse } from "../../../lib/registry/read-body.ts";
import { JSON_LIMITS, requireBoundedJson } from "../../../protocol/values/bounded-json.ts";
import type { OidcSettings } from "../../config/oidc-config.ts";

const TIMEOUT_S = 8;
/** How far the provider's clock may be from this machine's, in seconds. */
const CLOCK_TOLERANCE_S = 60;
/** The provider may be given other endpoints, and the client another secret. */
const REFRESH_MS = 3_600_000;
/** After a failure that strangers can cause: not sooner. */
const MIN_REFRESH_MS = 60_000;

/** What one sign-in has to bring back from the provider. */
export interface OidcChecks {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
}

export interface ConfirmedClaims {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** An OpenID Connect provider: authorization code flow with PKCE. Errors are those of openid-client, or of the network. */
export class OidcProvider {
  readonly #settings: OidcSettings;
  readonly #clock: Clock;
  #discovered: { readonly configuration: Promise<client.Configuration>; readonly at: number } | undefined;

  constructor(settings: OidcSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  createChecks(): OidcChecks {
    return { state: client.randomState(), nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
  }

  /** Returns where to send the browser. */
  async authorizationUrl({ state, nonce, verifier }: OidcChecks): Promise<URL> {
    const { scope, redirectUri } = this.#settings;
    return client.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: redirectUri,
      scope,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
  }

  /**
   * Exchanges what the provider has sent the browser back with for the person's claims. Verifies state, issuer, audience,
   * signature, time and nonce.
   */
  async exchange(query: string, { state, nonce, verifier }: OidcChecks): Promise<ConfirmedClaims> {
    const configuration = await this.#configuration();
    const url = new URL(this.#settings.redirectUri);
    url.search = query;
    try {
      const tokens = await client.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      const idToken = tokens.claims();
      if (!idToken) throw new Error("the provider sent no ID token");
      const { sub: subject } = idToken;
      const more = await this.#userInfo(configuration, tokens.access_token, subject);
      return { subject, claims: { ...more, ...idToken } };
    } catch (error) {
      this.#reconsider(error);
      throw error;
    }
  }

  /** Discovers the provider anew if the failure may be explained by other keys, another secret or other addresses. */
  #reconsider(error: unknown): void {
    if (isRefusedCode(error)) return;
    const ageMs = this.#clock.monotonic() - (this.#discovered?.at ?? 0);
    if (isUnreachable(error) || ageMs >= MIN_REFRESH_MS) this.#discovered = undefined;
  }

  /** Claims that the provider does not put into ID tokens. */
  async #userInfo(
    configuration: client.Configuration,
    accessToken: string,
    subject: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return {};
    return client.fetchUserInfo(configuration, accessToken, subject);
  }

  async #configuration(): Promise<client.Configuration> {
    const now = this.#clock.monotonic();
    if (this.#discovered && now - this.#discovered.at < REFRESH_MS) return this.#discovered.configuration;
    const discovered = { configuration: this.#discover(), at: now };
    this.#discovered = discovered;
    try {
      return await discovered.configuration;
    } catch (error) {
      if (this.#discovered === discovered) this.#discovered = undefined;
      throw error;
    }
  }

  async #discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecretFile } = this.#settings;
    const secret = clientSecretFile === undefined ? undefined : (await readFile(clientSecretFile, "utf8")).trim();
    const options: client.DiscoveryRequestOptions = {
      timeout: TIMEOUT_S,
      [client.customFetch]: boundedFetch,
      // The signature is verified although the token comes from the provider itself: a proxy may read TLS.
      execute: [
        client.enableNonRepudiationChecks,
        // The configuration allows it on this machine only.
        ...(issuer.startsWith("http:") ? [client.allowInsecureRequests] : []),
      ],
    };
    const authentication: client.ClientAuth = (server, ...rest) => authenticationOf(server, secret)(server, ...rest);
    const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_S };
    return client.discovery(new URL(issuer), clientId, metadata, authentication, options);
  }
}

/** Reads no more than a provider has to say, and counts it before openid-client parses it. */
const boundedFetch: client.CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  const bytes = await readResponse(response, JSON_LIMITS.oidc.maxBytes);
  requireBoundedJson(bytes, "oidc");
  return new Response(bytes.length === 0 ? null : bytes, response);
};

/** Whether the provider has answered that the code is not, or no longer, one of its own. */
function isRefusedCode(error: unknown): boolean {
  return error instanceof client.ResponseBodyError && error.error === "invalid_grant";
}

/** Whether the provider did not respond, which no stranger can cause. `fetch` rejects with a `TypeError`. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof client.ClientError && error.code === "OAUTH_TIMEOUT");
}

/** Sends the secret the way the provider takes it: in a header where nothing else is said. */
function authenticationOf(server: client.ServerMetadata, secret: string | undefined): client.ClientAuth {
  if (secret === undefined) return client.None();
  const methods = server.token_endpoint_auth_methods_supported;
  return !methods || methods.includes("client_secret_basic")
    ? client.ClientSecretBasic(secret)
    : client.ClientSecretPost(secret);
}
