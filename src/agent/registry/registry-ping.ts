import type { Clock } from "../../lib/clock.ts";
import { loginSecrets } from "../../lib/registry/login.ts";
import type { CredentialSource } from "./credentials/credential-source.ts";
import { RegistryError } from "./registry-error.ts";
import { type AgentRegistryResponse, createAuthorizer, RegistryHttp, type TrustSource } from "./registry-http.ts";
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
  const authorizer = createAuthorizer(http, clock);
  return async ({ registry, repository }, signal) => {
    const login = await credentials.lookup(registry, signal);
    const send = (authorization: string | undefined) => {
      const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
      return http.get({ registry, path: "/v2/", headers }, signal);
    };
    let response: AgentRegistryResponse;
    try {
      response = await authorizer.send({ registry, repository, login }, send, signal);
    } catch (error) {
      if (!login && error instanceof RegistryError && error.kind === "image_denied") return "wants_credentials";
      throw error;
    }
    if (response.status !== 200) throw await toResponseError(response, clock, loginSecrets(login));
    response.body.destroy();
    return login ? "accepted" : "no_credentials_needed";
  };
}
