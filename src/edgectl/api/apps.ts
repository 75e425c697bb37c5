import { z } from "zod";
import { type ApiClient, apiPath } from "./client.ts";
import { anyObject } from "../../protocol/values/scalars.ts";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { EXIT, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { openLines } from "./event-stream.ts";

const portSchema = z.looseObject({
  host_port: z.number(),
  target_port: z.number(),
  protocol: z.string().optional(),
});

const appSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  image_digest: z.string().nullish(),
  state: z.string(),
  desired_state: z.string().optional(),
  since: z.number().nullish(),
  restarts: z.number().nullish(),
  paused: z.string().optional(),
  changed: z
    .looseObject({ by: z.string().optional(), what: z.array(z.string()).optional(), since: z.number().optional() })
    .optional(),
  ports: z.array(portSchema).default([]),
  spec: anyObject.default({}),
  last_deployment: z
    .looseObject({ deployment_id: z.string(), action: z.string().optional(), status: z.string() })
    .nullish(),
});
export type App = z.output<typeof appSchema>;

/** How current the data is. */
const freshness = {
  /** Unix seconds; null if the device has never reported. */
  reported_at: z.number().nullable(),
  reachable: z.boolean(),
  /** Seconds; null if the device has never reported. */
  age_s: z.number().nullable().default(null),
};

const appListSchema = z.looseObject({ apps: z.array(appSchema), ...freshness });
export type AppList = z.output<typeof appListSchema>;

const appDetailSchema = appSchema.extend({
  ...freshness,
  /** Absent from older services. */
  reached_as: z.array(z.string()).optional(),
});
export type AppDetail = z.output<typeof appDetailSchema>;

/** Returns the path of an asset's apps, of one app, or of a resource below it. */
export function appsPath(asset: string, ...rest: readonly string[]): string {
  return apiPath("v1", "assets", asset, "edge", "apps", ...rest);
}

export function listApps(client: ApiClient, asset: string): Promise<AppList> {
  return client.json({ path: appsPath(asset) }, appListSchema);
}

/** @param reveal requests the values of the app's environment from the device; they are masked otherwise */
export function getApp(client: ApiClient, asset: string, app: string, reveal: boolean): Promise<AppDetail> {
  const query = { reveal: reveal ? "environments" : undefined };
  return client.json({ path: appsPath(asset, app), query }, appDetailSchema);
}

const CONTENT_TYPE = "application/x-ndjson";

const entrySchema = z.union([
  z.looseObject({ stream: z.string(), timestamp: z.string(), text: z.string() }),
  z.looseObject({ omitted_lines: z.number(), omitted_bytes: z.number() }),
  z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) }),
]);
type Entry = z.output<typeof entrySchema>;

/** A line of an app's log, or how much was left out before the next line. */
export type LogEntry = Exclude<Entry, { error: unknown }>;

interface LogsQuery {
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

const number = z.number().nullable().default(null);

const usageSchema = z.looseObject({
  app: z.string(),
  state: z.string(),
  cpu_percent: number,
  memory_bytes: number,
  memory_limit_bytes: number,
  network: z
    .looseObject({
      received_bytes: z.number(),
      sent_bytes: z.number(),
      received_bytes_per_s: number,
      sent_bytes_per_s: number,
    })
    .nullable()
    .default(null),
  disk: z
    .looseObject({
      read_bytes: z.number(),
      written_bytes: z.number(),
      read_bytes_per_s: number,
      written_bytes_per_s: number,
    })
    .nullable()
    .default(null),
  writable_bytes: number,
  processes: number,
});

const statsSchema = z.looseObject({
  at: z.number(),
  apps: z.array(usageSchema),
  omitted_apps: z.number().default(0),
});
export type AppStats = z.output<typeof statsSchema>;

const lineSchema = z.union([
  statsSchema,
  z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) }),
]);

const statsPath = (asset: string): string => apiPath("v1", "assets", asset, "edge", "stats");

/** Fetches what the apps of a device use now. @param app one app only; all without it */
export function getAppStats(client: ApiClient, asset: string, app: string | undefined): Promise<AppStats> {
  return client.json({ path: statsPath(asset), query: { app } }, statsSchema);
}

/**
 * Yields what the apps use, measured again and again. Ends when the app is gone. Errors: `ServiceFailure` when the request is
 * refused, another `Failure` when the stream breaks.
 */
export async function* followAppStats(
  client: ApiClient,
  asset: string,
  { app, intervalS }: { readonly app: string | undefined; readonly intervalS: number | undefined },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<AppStats> {
  const request = {
    path: statsPath(asset),
    query: { app, follow: "true", interval_s: intervalS },
    headers: { Accept: CONTENT_TYPE },
  };
  using stream = await openLines(client, request, { clock, signal, contentType: CONTENT_TYPE });
  for await (const { text } of stream.lines) {
    // Empty lines keep the connection alive.
    if (text.trim() === "") continue;
    const line = lineSchema.safeParse(parseJson(text, "response")).data;
    if (!line) {
      throw new Failure("The service sent a line that is not a measurement.", { exitCode: EXIT.unreachable });
    }
    if ("apps" in line) {
      yield line as AppStats;
      continue;
    }
    const { code, message } = line.error as { code: string; message: string };
    throw new Failure(message, { exitCode: EXIT.failed, code, hint: hintFor(code) });
  }
}
