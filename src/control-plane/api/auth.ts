import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../protocol/errors.ts";
import type { Principal } from "../people/principal.ts";
import type { PrincipalReader } from "../people/principal-reader.ts";
import type { Site } from "./people/site.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who the request acts as. Set only on endpoints that require it. */
    principal: Principal | undefined;
  }
}

/** Returns a hook that requires a valid API key, or without one a session. Error: `Unauthorized`. */
export function authenticate(principals: PrincipalReader, site: Site) {
  return async (request: FastifyRequest): Promise<void> => {
    const key = request.headers["x-api-key"];
    // A request with a key acts as that key alone, whatever cookies the client sends along.
    const principal =
      key === undefined ? await principals.ofSession(site.sessionSecretOf(request)) : await principals.ofKey(key);
    if (!principal) throw new EdgeError("Unauthorized");
    request.principal = principal;
    await principals.recordUse(principal);
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
