import type { Clock } from "../../lib/clock.ts";
import { Authorizer } from "./authorizer.ts";
import type { CredentialSource } from "./credentials/credential-source.ts";
import { RegistryError } from "./registry-error.ts";
import { RegistryHttp, type TrustSource } from "./registry-http.ts";
import { secretsOfAuth } from "./secrets-of-auth.ts";
import { errorOfAnswer } from "./to-registry-error.ts";
import { Transport } from "./transport.ts";

export interface KnockOptions {
  readonly clock: Clock;
  readonly trust: TrustSource;
  readonly credentials: CredentialSource;
  readonly userAgent: string;
}

/** What a registry said: whoever asks may, the credentials are taken, or it wants some and there are none for it. */
export type KnockAnswer = "open" | "accepted" | "wants_credentials";

/**
 * Asks a registry whether it is there and takes the device's credentials, and for nothing else. Rejects with a
 * `RegistryError`, or with the signal's reason.
 *
 * @param repository one that is pulled from it, for registries that tell by it who may; empty where none is known
 */
export type Knock = (
  target: { readonly registry: string; readonly repository: string },
  signal: AbortSignal,
) => Promise<KnockAnswer>;

const ANSWER_MS = 4_000;

export function createKnock({ clock, trust, credentials, userAgent }: KnockOptions): Knock {
  const http = new RegistryHttp(new Transport({ clock, userAgent, answerMs: ANSWER_MS }), trust, clock);
  const authorizer = new Authorizer(http, clock);
  const get = (registry: string, authorization: string | undefined, signal: AbortSignal) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
    return http.get({ registry, path: "/v2/", headers }, signal);
  };
  return async ({ registry, repository }, signal) => {
    const auth = await credentials.lookup(registry, signal);
    const access = { registry, repository, auth };
    const first = await get(registry, authorizer.known(access), signal);
    if (first.status !== 401 || first.isElsewhere || first.headers["www-authenticate"] === undefined) {
      if (first.status !== 200) throw await errorOfAnswer(first, clock, secretsOfAuth(auth));
      first.body.destroy();
      return auth ? "accepted" : "open";
    }
    first.body.destroy();
    try {
      const second = await get(registry, await authorizer.answer(first, access, signal), signal);
      if (second.status !== 200) throw await errorOfAnswer(second, clock, secretsOfAuth(auth));
      second.body.destroy();
      return auth ? "accepted" : "open";
    } catch (error) {
      if (!auth && error instanceof RegistryError && error.kind === "image_denied") return "wants_credentials";
      throw error;
    }
  };
}
