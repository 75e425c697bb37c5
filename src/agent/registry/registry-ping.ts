import type { Clock } from "../../lib/clock.ts";
import { Authorizer } from "./authorizer.ts";
import type { CredentialSource } from "./credentials/credential-source.ts";
import { RegistryError } from "./registry-error.ts";
import { RegistryHttp, type TrustSource } from "./registry-http.ts";
import { authSecrets } from "./auth-secrets.ts";
import { toResponseError } from "./to-registry-error.ts";
import { Transport } from "./transport.ts";

export interface RegistryPingOptions {
  readonly clock: Clock;
  readonly trust: TrustSource;
  readonly credentials: CredentialSource;
  readonly userAgent: string;
}

/** How a registry responded: without authentication, with the credentials accepted, or it requires some and has none. */
export type RegistryPingResult = "no_credentials_needed" | "accepted" | "wants_credentials";

/**
 * Checks whether a registry responds and accepts the device's credentials. Rejects with a `RegistryError`, or with the
 * signal's reason.
 *
 * @param target its `repository` is one that is pulled from it, for registries that grant access by repository
 */
export type RegistryPing = (
  target: { readonly registry: string; readonly repository?: string | undefined },
  signal: AbortSignal,
) => Promise<RegistryPingResult>;

const RESPONSE_TIMEOUT_MS = 4_000;

export function createRegistryPing({ clock, trust, credentials, userAgent }: RegistryPingOptions): RegistryPing {
  const http = new RegistryHttp(
    new Transport({ clock, userAgent, responseTimeoutMs: RESPONSE_TIMEOUT_MS }),
    trust,
    clock,
  );
  const authorizer = new Authorizer(http, clock);
  const get = (registry: string, authorization: string | undefined, signal: AbortSignal) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
    return http.get({ registry, path: "/v2/", headers }, signal);
  };
  return async ({ registry, repository }, signal) => {
    const auth = await credentials.lookup(registry, signal);
    const access = { registry, repository, auth };
    const first = await get(registry, authorizer.cachedHeader(access), signal);
    if (first.status !== 401 || first.isCrossOrigin || first.headers["www-authenticate"] === undefined) {
      if (first.status !== 200) throw await toResponseError(first, clock, authSecrets(auth));
      first.body.destroy();
      return auth ? "accepted" : "no_credentials_needed";
    }
    first.body.destroy();
    try {
      const second = await get(registry, await authorizer.authenticate(first, access, signal), signal);
      if (second.status !== 200) throw await toResponseError(second, clock, authSecrets(auth));
      second.body.destroy();
      return auth ? "accepted" : "no_credentials_needed";
    } catch (error) {
      if (!auth && error instanceof RegistryError && error.kind === "image_denied") return "wants_credentials";
      throw error;
    }
  };
}
