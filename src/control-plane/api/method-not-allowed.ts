import { EdgeError } from "../../protocol/errors.ts";
import type { Api } from "./context.ts";

/**
 * Answers 405 with `Allow` wherever an address exists but not for the method. Call it before the routes are
 * registered; the answer of this function afterwards.
 */
export function trackMethods(api: Api): () => void {
  const methods = new Map<string, Set<string>>();
  api.addHook("onRoute", ({ url, method }) => {
    const known = methods.get(url) ?? new Set();
    for (const name of [method].flat()) known.add(name);
    methods.set(url, known);
  });
  return () => {
    // A copy, since refusing registers further routes.
    for (const [url, known] of new Map(methods)) refuseOthers(api, url, [...known].toSorted());
  };
}

function refuseOthers(api: Api, url: string, allowed: readonly string[]): void {
  api.route({
    method: api.supportedMethods.filter((method) => !allowed.includes(method)),
    url,
    schema: { hide: true },
    // Before a body is read: none is wanted.
    preParsing: async (_request, reply) => {
      void reply.header("Allow", allowed.join(", "));
      throw new EdgeError("MethodNotAllowed", `This address supports ${allowed.join(", ")}.`, { allow: allowed });
    },
    handler: () => {
      throw new Error("unreachable: refused in preParsing");
    },
  });
}
