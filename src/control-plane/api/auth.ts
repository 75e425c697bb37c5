import type { FastifyRequest, onSendHookHandler } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { apiKeyOf, CHALLENGE } from "../core/people/credentials.ts";
import type { Principal } from "../accounts/principal.ts";
import type { PrincipalReader } from "../accounts/principal-reader.ts";
import type { Pacing } from "./pacing.ts";
import type { Site } from "./site.ts";
import type { Person } from "../core/fleets/fleet.ts";

/** A body that comes later than this after its head may come after the access of its sender ended. */
const MAX_BODY_DELAY_MS = 1_000;

declare module "fastify" {
  interface FastifyRequest {
    /** Who the request acts as. Set only on endpoints that require it. */
    principal: Principal | undefined;
  }
}

/** Hook: names what the service accepts, on every response that refuses the credentials. */
export const challenge: onSendHookHandler = (_request, reply, _payload, done) => {
  if (reply.statusCode === 401) void reply.header("WWW-Authenticate", CHALLENGE);
  done();
};

/** Returns a hook that requires a valid API key, or without one a session. Errors: `Unauthorized`, `TooManyRequests`. */
export function authenticate(principals: PrincipalReader, site: Site, pacing: Pacing) {
  return async (request: FastifyRequest): Promise<void> => {
    const key = apiKeyOf(request.headers);
    const secret = credentialOf(request, site);
    const principal = await pacing.authenticate<Principal>(request, secret, () =>
      key === undefined ? principals.ofSession(secret) : principals.ofKey(secret),
    );
    if (!principal) throw new EdgeError("Unauthorized");
    request.principal = principal;
    await principals.recordUse(principal);
  };
}

/** Returns the secret with which the request acts. One with a key acts as that alone, whatever cookies the client sends along. */
export function credentialOf(request: FastifyRequest, site: Site): string | readonly string[] | undefined {
  return apiKeyOf(request.headers) ?? site.sessionSecretOf(request);
}

/** Returns hooks that check the principal again if the body came late. Error: `Unauthorized`. */
export function authenticateAgain(principals: PrincipalReader, clock: Pick<Clock, "monotonic">) {
  const authenticatedAt = new WeakMap<FastifyRequest, number>();
  return {
    afterHead: async (request: FastifyRequest): Promise<void> => {
      authenticatedAt.set(request, clock.monotonic());
    },
    afterBody: async (request: FastifyRequest): Promise<void> => {
      if (clock.monotonic() - (authenticatedAt.get(request) ?? 0) <= MAX_BODY_DELAY_MS) return;
      const principal = await principals.refresh(principalOf(request));
      if (!principal) throw new EdgeError("Unauthorized");
      request.principal = principal;
    },
  };
}

/** The account that the request acts in. */
export function accountOf(request: FastifyRequest): string {
  return principalOf(request).accountId;
}

/** The principal of a request that has passed `authenticate`. */
export function principalOf(request: FastifyRequest): Principal {
  if (!request.principal) throw new Error("the endpoint does not authenticate requests");
  return request.principal;
}

/** Who acts with the request, as it is kept on what was made. */
export function personOf(request: FastifyRequest): Person {
  const principal = principalOf(request);
  const { kind, id, name } = principal;
  const origin = principal.kind === "key" ? principal.key.originId : undefined;
  return { kind, id, name, ...(origin !== undefined && { origin }) };
}
