import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { MAX_CURSOR_LENGTH } from "../../protocol/limits.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../core/cursor.ts";
import type { Api } from "./context.ts";

/*
 * A `next_cursor` holds the position in the list, and what the list was asked for: the client's query, and the range that its
 * defaults came to. So the pages of one list are parts of one whole, also if a client sends the cursor alone, or if a month ends
 * in between. What a cursor holds is validated as what the client sends.
 */

/** Parameters that say how a page is returned, and may differ from page to page. */
const OF_PAGE: ReadonlySet<string> = new Set(["cursor", "limit", "format"]);
/** Parameters with a default that follows the clock. Lists return them with these names. */
const RANGE = ["start_time", "end_time", "from", "to"] as const;
type Range = Readonly<Partial<Record<(typeof RANGE)[number], unknown>>>;

type Query = Readonly<Record<string, unknown>>;

const contentSchema = z.tuple([z.string(), z.record(z.string(), z.string()), z.record(z.string(), z.string())]);

declare module "fastify" {
  interface FastifyRequest {
    /** What the list was asked for, as it is in its cursors; set where an operation is a list in pages. */
    listQuery: Readonly<Record<string, string>> | undefined;
  }
}

/** Makes every list in pages go on with what its first page was asked for. Must be called before the routes are registered. */
export function carryQueries(api: Api): void {
  api.decorateRequest("listQuery", undefined);
  api.addHook("preValidation", async (request) => {
    const names = parametersOf(request);
    if (!names) return;
    const query = request.query as Query;
    const { cursor } = query;
    if (typeof cursor !== "string" || cursor === "") {
      request.listQuery = textsOf(query, names);
      return;
    }
    const [position, sent, range] = readListCursor(cursor, names);
    const issues = names
      .filter((name) => query[name] !== undefined && query[name] !== sent[name] && query[name] !== range[name])
      .map((path) => ({ path, reason: "is not that of the cursor; leave it out, or start again without the cursor" }));
    if (issues.length > 0) throw invalidRequest(issues);
    request.listQuery = sent;
    request.query = { ...query, ...sent, ...range, cursor: position };
  });
  api.addHook("preSerialization", async (request, _reply, body) => {
    const { next_cursor: next } = (body ?? {}) as Query;
    if (typeof next !== "string" || !request.listQuery) return body;
    return { ...(body as Query), next_cursor: nextCursorOf(request, next, body as Range) };
  });
}

/**
 * Returns the cursor of the next page of the list.
 *
 * @param position where that page begins
 * @param shown what has the range of the list, if it has one
 */
export function nextCursorOf(request: FastifyRequest, position: string, shown: Range): string {
  const names = new Set(parametersOf(request));
  const range = RANGE.filter((name) => names.has(name)).map((name) => [name, String(shown[name])]);
  const text = JSON.stringify([position, request.listQuery ?? {}, Object.fromEntries(range)]);
  return encodeCursor(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Error: `InvalidRequest` for a cursor of another list. */
export function readListCursor(cursor: string, names: readonly string[]): z.output<typeof contentSchema> {
  if (cursor.length > MAX_CURSOR_LENGTH) throw invalidCursor();
  const bytes = Uint8Array.from(decodeCursor(cursor), (character) => character.charCodeAt(0));
  const { success, data } = contentSchema.safeParse(parse(bytes));
  if (!success || [data[1], data[2]].some((part) => Object.keys(part).some((name) => !names.includes(name)))) {
    throw invalidCursor();
  }
  return data;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseBoundedJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes), "short");
  } catch {
    return undefined;
  }
}

/** Returns the names of the parameters that say what is listed; `undefined` if the operation is no list in pages. */
function parametersOf({ routeOptions }: FastifyRequest): readonly string[] | undefined {
  const { querystring } = (routeOptions.schema ?? {}) as { readonly querystring?: z.ZodType };
  const { shape } = (querystring ?? {}) as { readonly shape?: object };
  return shape && "cursor" in shape ? Object.keys(shape).filter((name) => !OF_PAGE.has(name)) : undefined;
}

function textsOf(query: Query, names: readonly string[]): Record<string, string> {
  const sent = names.map((name) => [name, query[name]] as const);
  return Object.fromEntries(sent.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
