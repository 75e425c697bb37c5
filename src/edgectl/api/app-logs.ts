import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { appsPath } from "./apps.ts";
import type { ApiClient } from "./client.ts";
import { openLines } from "./line-stream.ts";

const CONTENT_TYPE = "application/x-ndjson";

const entrySchema = z.union([
  z.looseObject({ stream: z.string(), timestamp: z.string(), text: z.string() }),
  z.looseObject({ omitted_lines: z.number(), omitted_bytes: z.number() }),
  z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) }),
]);
type Entry = z.output<typeof entrySchema>;

/** A line of an app's log, or how much was left out before the next line. */
export type LogEntry = Exclude<Entry, { error: unknown }>;

export interface LogsQuery {
  readonly tail?: number | undefined;
  /** Unix seconds. */
  readonly since?: number | undefined;
  readonly follow: boolean;
  /** What the app wrote before its present run. */
  readonly previous?: boolean;
}

/**
 * Reads an app's log. Ends after the last line, with `follow` when the app is gone. Errors: `ServiceFailure` when the
 * request is refused, another `Failure` when the stream breaks.
 */
export async function* readAppLogs(
  client: ApiClient,
  asset: string,
  app: string,
  query: LogsQuery,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<LogEntry> {
  const request = {
    path: appsPath(asset, app, "logs"),
    query: {
      tail: query.tail,
      since: query.since,
      follow: query.follow ? "true" : undefined,
      previous: query.previous === true ? "true" : undefined,
    },
    headers: { Accept: CONTENT_TYPE },
  };
  using stream = await openLines(client, request, { clock, signal, contentType: CONTENT_TYPE });
  for await (const { text } of stream.lines) {
    // Empty lines keep the connection alive.
    if (text.trim() === "") continue;
    const entry = parseEntry(text);
    if (!("error" in entry)) {
      yield entry;
      continue;
    }
    const { code, message } = entry.error as { code: string; message: string };
    throw new Failure(message, { exitCode: EXIT.failed, code, hint: hintFor(code) });
  }
}

function parseEntry(line: string): Entry {
  const parsed = entrySchema.safeParse(parseJson(line, "response"));
  if (parsed.success) return parsed.data;
  throw new Failure("The service sent a line that is not a log entry.", { exitCode: EXIT.unreachable });
}
