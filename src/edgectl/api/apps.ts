import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";
import { anyObject } from "../../protocol/values/scalars.ts";
import type { Clock } from "../../lib/clock.ts";
import { EXIT, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { readMessages } from "./event-stream.ts";

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
  last_exit: z.looseObject({ code: z.number() }).optional(),
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

export function listApps(client: ApiClient, asset: string): Promise<AppList> {
  return client.json(requestOf("GET /v1/assets/{asset_id}/edge/apps", { path: { asset_id: asset } }), appListSchema);
}

/** @param reveal requests the values of the app's environment from the device; they are masked otherwise */
export function getApp(client: ApiClient, asset: string, app: string, reveal: boolean): Promise<AppDetail> {
  const query = { reveal: reveal ? "environments" : undefined };
  const options = { path: { asset_id: asset, name: app }, query };
  return client.json(requestOf("GET /v1/assets/{asset_id}/edge/apps/{name}", options), appDetailSchema);
}

const NDJSON = "application/x-ndjson";

/** The error that ends a stream of lines. */
const errorLineSchema = z.looseObject({ error: z.looseObject({ code: z.string(), message: z.string() }) });

const entrySchema = z.union([
  z.looseObject({ stream: z.string(), time: z.string(), text: z.string() }),
  z.looseObject({ omitted_lines: z.number(), omitted_bytes: z.number() }),
  errorLineSchema,
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
  const request = requestOf("GET /v1/assets/{asset_id}/edge/apps/{name}/logs", {
    path: { asset_id: asset, name: app },
    query: {
      tail: query.tail,
      since: query.since,
      follow: query.follow ? "true" : undefined,
      previous: query.previous === true ? "true" : undefined,
    },
    headers: { Accept: NDJSON },
  });
  const options = { clock, signal, contentType: NDJSON, refuse: () => notA("log entry") } as const;
  for await (const entry of readMessages(client, request, entrySchema, options)) {
    if ("error" in entry) throw toFailure(entry);
    yield entry;
  }
}

function toFailure(line: unknown): Failure {
  const { code, message } = (line as z.output<typeof errorLineSchema>).error;
  return new Failure(message, { exitCode: EXIT.failed, code, hint: hintFor(code) });
}

function notA(what: string): Failure {
  return new Failure(`The service sent a line that is not a ${what}.`, { exitCode: EXIT.unreachable });
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
  measured_at: z.number(),
  apps: z.array(usageSchema),
  omitted_apps: z.number().default(0),
});
export type AppStats = z.output<typeof statsSchema>;

const lineSchema = z.union([statsSchema, errorLineSchema]);

const STATS = "GET /v1/assets/{asset_id}/edge/stats";

/** Fetches what the apps of a device use now. @param app one app only; all without it */
export function getAppStats(client: ApiClient, asset: string, app: string | undefined): Promise<AppStats> {
  return client.json(requestOf(STATS, { path: { asset_id: asset }, query: { app } }), statsSchema);
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
  const request = requestOf(STATS, {
    path: { asset_id: asset },
    query: { app, follow: "true", interval_s: intervalS },
    headers: { Accept: NDJSON },
  });
  const options = { clock, signal, contentType: NDJSON, refuse: () => notA("measurement") } as const;
  for await (const line of readMessages(client, request, lineSchema, options)) {
    if (!("apps" in line)) throw toFailure(line);
    yield line as AppStats;
  }
}
