import { LocalError } from "./local-error.ts";

/** A request as passed to a route's handler. */
export interface LocalRequest {
  /** Values of the path parameters, such as `:name`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed body; `undefined` without one. */
  readonly body: unknown;
  /** Aborts when the client disconnects or the agent stops. */
  readonly signal: AbortSignal;
}

/**
 * The access a route needs. `read` routes change nothing, cost no data and show no secrets; the read-only socket serves
 * them too. `change` routes are on the full socket only.
 */
export type RouteAccess = "read" | "change";

export type Handler = { readonly access: RouteAccess } & (
  | { readonly kind: "response"; readonly run: (request: LocalRequest) => Promise<unknown> }
  /** Writes JSON values, one per line, until it resolves. */
  | {
      readonly kind: "stream";
      readonly run: (request: LocalRequest, write: (value: unknown) => void) => Promise<void>;
    }
);

/** Handlers by method and path pattern, such as `GET /apps/:name`. */
export type Routes = Readonly<Record<string, Handler>>;

/** Finds the handler of a request. Throws a `LocalError` if there is none. */
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

/** Reads a whole number of the query, limited to 0 to `max`. Returns `fallback` if it is missing or invalid. */
export function countFrom(query: URLSearchParams, name: string, fallback: number, max: number): number {
  const value = Number(query.get(name) ?? fallback);
  return Number.isInteger(value) ? Math.min(max, Math.max(0, value)) : fallback;
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
