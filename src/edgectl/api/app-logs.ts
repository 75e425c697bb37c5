import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { appsPath } from "./apps.ts";
import type { ApiClient } from "./client.ts";
import { readLines } from "./line-stream.ts";

const entrySchema = z.union([
  z.looseObject({ stream: z.string(), timestamp: z.string(), text: z.string() }),
  z.looseObject({ omitted_lines: z.number(), omitted_bytes: z.number() }),
  z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) }),
]);
type Entry = z.output<typeof entrySchema>;

/** A line an app wrote, or how much was left out before the next one. */
export type LogEntry = Exclude<Entry, { error: unknown }>;

export interface LogsQuery {
  readonly tail?: number | undefined;
  /** Unix seconds. */
  readonly since?: number | undefined;
  readonly follow: boolean;
}

/**
 * What an app wrote. Ends when there is no more, with `follow` only when the app is gone. Errors: `ServiceFailure` where
 * it is refused; a `Failure` where it breaks off on the way.
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
    query: { tail: query.tail, since: query.since, follow: query.follow ? "true" : undefined },
    headers: { Accept: "application/x-ndjson" },
  };
  for await (const line of readLines(client, request, { clock, signal, type: "application/x-ndjson" })) {
    const entry = parseEntry(line);
    if (!("error" in entry)) {
      yield entry;
      continue;
    }
    const { code, message } = entry.error as { code: string; message: string };
    throw new Failure(message, { exitCode: EXIT.failed, code, hint: hintFor(code) });
  }
}

function parseEntry(line: string): Entry {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    value = undefined;
  }
  const parsed = entrySchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Failure("The service sent something that is no line of a log.", { exitCode: EXIT.unreachable });
}
