import type { FastifyRequest } from "fastify";
import type { Person } from "../../core/fleets/fleet.ts";
import { principalOf } from "../auth.ts";

/** Who acts with the request, as it is kept on what was made. */
export function personOf(request: FastifyRequest): Person {
  const principal = principalOf(request);
  const { kind, id, name } = principal;
  const origin = principal.kind === "key" ? principal.key.originId : undefined;
  return { kind, id, name, ...(origin !== undefined && { origin }) };
}
