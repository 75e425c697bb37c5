import { LocalError } from "./local-error.ts";

/** A request as a route gets it. */
export interface LocalRequest {
  /** What stands in the path in place of `:name`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The body, parsed; `undefined` without one. */
  readonly body: unknown;
  /** Aborted when the other side has gone, or the agent stops. */
  readonly signal: AbortSignal;
}

/**
 * What a request does: `read` changes nothing, costs no data and shows no secret, so that the socket for reading serves
 * it too; `change` is for the full socket only.
 */
export type RouteAccess = "read" | "change";

export type Handler = { readonly access: RouteAccess } & (
  | { readonly kind: "answer"; readonly run: (request: LocalRequest) => Promise<unknown> }
  /** Writes JSON values, one a line, until it resolves. */
  | {
      readonly kind: "stream";
      readonly run: (request: LocalRequest, write: (value: unknown) => void) => Promise<void>;
    }
);

/** `GET /apps/:name` and the like, to what serves it. */
export type Routes = Readonly<Record<string, Handler>>;

/** Finds what serves a request. Throws a `LocalError` where nothing does. */
export function findRoute(
  routes: Routes,
  method: string,
  path: string,
): { readonly handler: Handler; readonly params: Record<string, string> } {
  for (const [route, handler] of Object.entries(routes)) {
    const [verb, pattern = ""] = route.split(" ");
    const params = verb === method ? matchPath(pattern, path) : undefined;
    if (params) return { handler, params };
  }
  throw new LocalError(404, "NotFound", "This agent does not know that request; it may be of another version.");
}

/** A whole number from the query, within bounds. */
export function countFrom(query: URLSearchParams, name: string, fallback: number, most: number): number {
  const value = Number(query.get(name) ?? fallback);
  return Number.isInteger(value) ? Math.min(most, Math.max(0, value)) : fallback;
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = decode(value);
    else if (part !== value) return undefined;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new LocalError(400, "BadRequest", "The path of the request cannot be read.");
  }
}
