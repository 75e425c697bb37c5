import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Api } from "./context.ts";

interface Address {
  readonly pattern: RegExp;
  readonly methods: string[];
}

/**
 * Refuses addresses that do not exist, and methods that an address does not have, before anything of the request is read.
 * Errors: `NotFound`, `MethodNotAllowed` with `Allow`. Must be called before the routes are registered.
 */
export function refuseUnknownAddresses(api: Api): void {
  const addresses = new Map<string, Address>();
  api.addHook("onRoute", ({ url, method }) => {
    const address = addresses.get(url) ?? { pattern: patternOf(url), methods: [] };
    address.methods.push(...[method].flat());
    addresses.set(url, address);
  });
  const methodsOf = (path: string): string[] => {
    const found = [...addresses.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(found.flatMap(({ methods }) => methods))].toSorted();
  };
  api.addHook("onRequest", async (request, reply) => {
    // The router takes what stands behind the last slash for a parameter, also if that is nothing.
    if (!request.is404 && !hasEmptyParameter(request)) return;
    const [path = ""] = request.url.split("?");
    const allowed = methodsOf(path);
    if (allowed.length > 0) {
      void reply.header("Allow", allowed.join(", "));
      throw new EdgeError("MethodNotAllowed", `This address supports ${allowed.join(", ")}.`, { allow: allowed });
    }
    const plain = withoutEmptySegments(path);
    const isMeant = plain !== path && methodsOf(plain).length > 0;
    throw new EdgeError("NotFound", isMeant ? `There is nothing at this address; did you mean ${plain}?` : undefined);
  });
}

/** Matches the paths of a route as the router does: no parameter is empty. */
function patternOf(url: string): RegExp {
  const segments = url
    .split("/")
    .map((segment) => (segment.startsWith(":") ? "[^/]+" : segment.replaceAll(".", "\\.")));
  return new RegExp(`^${segments.join("/")}$`);
}

function hasEmptyParameter({ params }: FastifyRequest): boolean {
  return Object.values(params as Readonly<Record<string, string>>).includes("");
}

function withoutEmptySegments(path: string): string {
  return path.replaceAll(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}
