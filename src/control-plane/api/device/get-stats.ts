import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import {
  type AppStats,
  appStatsSchema,
  DEFAULT_STATS_INTERVAL_S,
  MAX_STATS_INTERVAL_S,
  MIN_STATS_INTERVAL_S,
} from "../../../protocol/apps/app-stats.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { booleanString, integerString } from "../../../protocol/values/scalars.ts";
import type { StatsFeed } from "../../devices/queries/stats-feed.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, messages } from "../docs/responses.ts";
import { endWithClient } from "../stream-signal.ts";

const NDJSON_TYPE = "application/x-ndjson";

const query = z.strictObject({
  app: z
    .string()
    .max(64)
    .optional()
    .meta({ description: "One app only; all apps of the device without it.", examples: ["node-red"] }),
  follow: booleanString().default(false).meta({
    description: "Measures again and again until the client disconnects. Every measurement uses the device's link.",
  }),
  interval_s: integerString(MIN_STATS_INTERVAL_S, MAX_STATS_INTERVAL_S)
    .default(DEFAULT_STATS_INTERVAL_S)
    .meta({ description: "With `follow`: seconds between two measurements." }),
});

const EXAMPLE: AppStats = {
  measured_at: 1_795_178_868,
  apps: [
    {
      app: "node-red",
      state: "running",
      cpu_percent: 3.4,
      memory_bytes: 61_865_984,
      memory_limit_bytes: 268_435_456,
      network: { received_bytes: 182_340, sent_bytes: 95_210, received_bytes_per_s: 120, sent_bytes_per_s: 80 },
      disk: { read_bytes: 4_096_000, written_bytes: 1_228_800, read_bytes_per_s: 0, written_bytes_per_s: 4_096 },
      writable_bytes: 53_248,
      processes: 11,
    },
  ],
  omitted_apps: 0,
};

const errorLineSchema = z
  .object({
    error: z
      .object({
        code: z.string().meta({ description: "Error code." }),
        message: z.string().meta({ description: "What happened, for people." }),
      })
      .meta({ description: "Why the measurements end here." }),
  })
  .meta({ id: "AppStatsError", description: "The last line of measurements that were interrupted." });

/** `GET /v1/assets/{asset_id}/edge/stats`: what the apps of a device use, measured now. */
export function getStats(api: Api, context: ApiContext<"accounts" | "queries" | "streams">): void {
  api.get(
    "/v1/assets/:asset_id/edge/stats",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "getAppStats",
        summary: "App Stats",
        description:
          "Processor, memory, network and disk that each app uses, measured on the device for a second. With `follow`, one " +
          "measurement per line as NDJSON, until the client disconnects; a stream that is interrupted " +
          "ends with an error line. Devices never send this unasked.",
        tags: ["Devices"],
        params: assetParams,
        querystring: query,
        response: {
          200: {
            description: "One measurement, or with `follow` one for each line.",
            content: {
              "application/json": messages(appStatsSchema, [EXAMPLE]),
              [NDJSON_TYPE]: messages(z.union([appStatsSchema, errorLineSchema]), [EXAMPLE]),
            },
          },
          ...errors(
            "AssetNotFound",
            "AppNotFound",
            "DeviceTooOld",
            "DeviceNotReachable",
            "EngineUnavailable",
            "DeviceFailed",
          ),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const { app, ...options } = request.query;
      const feed = context.queries.openStats(asset, { ...options, ...(app !== undefined && { app }) });
      endWithClient(request, reply, context, feed);
      const first = await feed.first();
      return options.follow ? sendStats(context, request, reply, { first, feed }) : first;
    },
  );
}

function sendStats(
  { streams }: ApiContext<"streams">,
  request: FastifyRequest,
  reply: FastifyReply,
  { first, feed }: { readonly first: AppStats; readonly feed: StatsFeed },
): FastifyReply {
  return reply
    .headers({ "Content-Type": `${NDJSON_TYPE}; charset=utf-8`, "X-Accel-Buffering": "no" })
    .send(Readable.from(streams.limiter.withStallTimeout(request, reply, writeStats(first, feed))));
}

async function* writeStats(first: AppStats, feed: StatsFeed): AsyncGenerator<string> {
  using _feed = feed;
  yield `${JSON.stringify(first)}\n`;
  try {
    for await (const stats of feed.answers()) yield stats ? `${JSON.stringify(stats)}\n` : "\n";
  } catch (error) {
    if (!(error instanceof EdgeError)) throw error;
    const { code, message } = error;
    yield `${JSON.stringify({ error: { code, message } })}\n`;
  }
}
