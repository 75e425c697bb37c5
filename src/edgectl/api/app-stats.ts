import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import type { ApiClient } from "./client.ts";
import { openLines } from "./line-stream.ts";
import { apiPath } from "./path.ts";

const CONTENT_TYPE = "application/x-ndjson";

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
