import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { knownFields } from "../../protocol/values/known-fields.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import type { Api } from "./context.ts";
import { toHeaderName } from "./headers.ts";

const NO_QUERY = z.strictObject({});

const UNCONDITIONAL = "this operation is not conditional; send it without this header";
const OTHERWISE_CONDITIONAL = "this operation takes If-Match in place of this header";

/** Headers that change what a request does, each with the reason for which an operation that does not declare it refuses it. */
const HEADERS: Readonly<Record<string, string>> = {
  "if-match": UNCONDITIONAL,
  "if-none-match": UNCONDITIONAL,
  "if-unmodified-since": UNCONDITIONAL,
  "idempotency-key": "this operation does not recognize repeated requests; send it without this header",
};

/** Character sets of which every text is the same in UTF-8. */
const UTF8: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii"]);

/** Methods that change nothing: a client loses nothing if these headers are ignored. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Gives operations without query parameters the schema that says so: without a schema, Fastify ignores what is sent. Must be
 * called before the routes are registered.
 */
export function refuseUnknownQueries(api: Api): void {
  api.addHook("onRoute", (route) => {
    // Pages are no operations: people come to them with what other sites and the pages themselves append.
    if (route.schema?.hide) return;
    route.schema = { ...route.schema, querystring: route.schema?.querystring ?? NO_QUERY };
  });
}

/** Refuses a body that is compressed, or in another character set: it would be read as something else. Error: `UnsupportedMediaType`. */
export function requirePlainUtf8({ headers }: FastifyRequest): void {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new EdgeError(
      "UnsupportedMediaType",
      "The request body must not be compressed: send it without Content-Encoding.",
    );
  }
  const [, charset] = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers["content-type"] ?? "") ?? [];
  if (charset !== undefined && !UTF8.has(charset.toLowerCase())) {
    throw new EdgeError("UnsupportedMediaType", "The request body must be UTF-8, as JSON is.");
  }
}

/**
 * Hook: refuses a query with an escape that is none, which would be read as other text, and a parameter whose place is the body, and
 * says so. Errors: `BadRequest`, `InvalidRequest`.
 */
export async function refuseMisplacedQuery({ url, query, routeOptions }: FastifyRequest): Promise<void> {
  const at = url.indexOf("?");
  if (at < 0) return;
  if (!isDecodable(url.slice(at + 1))) {
    throw new EdgeError(
      "BadRequest",
      "The query has a % that begins no valid escape of UTF-8, such as %25 for a percent sign.",
    );
  }
  const { body, querystring } = (routeOptions.schema ?? {}) as { body?: z.ZodType; querystring?: z.ZodType };
  if (!body || !querystring) return;
  const [inQuery, inBody] = [knownFields(querystring, []), knownFields(body, [])];
  const issues = Object.keys(query as object)
    .filter((name) => !inQuery.includes(name) && inBody.includes(name))
    .map((name) => ({ path: name, reason: "is a field of the body, not a query parameter" }));
  if (issues.length > 0) throw invalidRequest(issues);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Hook: refuses headers that the operation would have to carry out and does not declare. Error: `InvalidRequest`. */
export async function refuseUnknownHeaders({ method, headers, routeOptions }: FastifyRequest): Promise<void> {
  if (SAFE_METHODS.has(method)) return;
  const sent = Object.entries(HEADERS).filter(([name]) => headers[name] !== undefined);
  if (sent.length === 0) return;
  const declared = knownFields((routeOptions.schema?.headers as z.ZodType | undefined) ?? NO_QUERY, []);
  const issues = sent
    .filter(([name]) => !declared.includes(name))
    .map(([name, reason]) => ({
      path: toHeaderName(name),
      reason: reason === UNCONDITIONAL && declared.includes("if-match") ? OTHERWISE_CONDITIONAL : reason,
    }));
  if (issues.length > 0) throw invalidRequest(issues);
}
