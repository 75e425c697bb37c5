import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { appLogLineSchema, MAX_LOG_TAIL_LINES } from "../../../protocol/apps/app-log.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { booleanString, integerString, MAX_UNIX_SECONDS } from "../../../protocol/values/scalars.ts";
import { type LogEntry, type LogFormat, NDJSON, PLAIN_TEXT } from "../../core/log-entry.ts";
import type { LogFeed } from "../../devices/queries/log-feed.ts";
import { findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, messages } from "../docs/responses.ts";
import { endWithClient } from "../stream-signal.ts";
import { appParams } from "./app-resource.ts";
import { preferredType } from "../headers.ts";

const query = z.strictObject({
  tail: integerString(0, MAX_LOG_TAIL_LINES)
    .default(200)
    .meta({ description: "Maximum number of past lines; the latest ones." }),
  since: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({ description: "Only lines from this time on; Unix seconds." }),
  follow: booleanString()
    .default(false)
    .meta({ description: "Continues with new lines until the client disconnects." }),
  previous: booleanString()
    .default(false)
    .meta({
      description:
        "What the app wrote before its present run: earlier runs of its container, and the end of the log of the container " +
        "that an update, a rollback or a repair replaced. Empty if nothing is left of it. Not together with `follow`.",
    }),
});

const entrySchema = z
  .union([
    appLogLineSchema,
    z
      .object({
        omitted_lines: z.int().min(0).meta({ description: "Lines that were dropped here." }),
        omitted_bytes: z.int().min(0).meta({ description: "Bytes that were dropped here." }),
      })
      .meta({ id: "AppLogOmission", description: "In place of lines that the link or the client was too slow for." }),
    z
      .object({
        error: z
          .object({
            code: z.string().meta({ description: "Error code." }),
            message: z.string().meta({ description: "What happened, for people." }),
          })
          .meta({ description: "Why the log ends here." }),
      })
      .meta({ id: "AppLogError", description: "The last line of a log that was interrupted." }),
  ])
  .meta({ id: "AppLogEntry" });

const EXAMPLE: readonly LogEntry[] = [
  { stream: "stdout", time: "2026-11-20T10:00:00.123456789Z", text: "Welcome to Node-RED" },
  { omitted_lines: 12, omitted_bytes: 1_840 },
  { stream: "stderr", time: "2026-11-20T10:00:04.9Z", text: "[warn] no flows found" },
];

/** `GET /v1/assets/{asset_id}/edge/apps/{name}/logs`: streams the log of an app from the device. */
export function getAppLogs(api: Api, context: ApiContext<"accounts" | "queries" | "streams">): void {
  api.get(
    "/v1/assets/:asset_id/edge/apps/:name/logs",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "getAppLogs",
        summary: "App Logs",
        description:
          "Lines of the app's standard output and error, oldest first, as NDJSON or as plain text by `Accept`. Lines that " +
          "are dropped, because the link or the client is too slow, are counted in their place. A log that is " +
          "interrupted ends with an error line.",
        tags: ["Apps"],
        params: appParams,
        querystring: query,
        response: {
          200: {
            description: "The log. Each non-empty line is one JSON object, or one line of text.",
            content: {
              "application/x-ndjson": messages(entrySchema, EXAMPLE),
              "text/plain": messages(z.string(), [EXAMPLE.map((entry) => PLAIN_TEXT.entry(entry)).join("")]),
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
      const { asset_id, name } = request.params;
      const asset = await findAsset(context.store, request, asset_id);
      const { since, ...range } = request.query;
      if (range.previous && range.follow) {
        throw new EdgeError(
          "InvalidRequest",
          "The log of earlier runs cannot be followed: leave out previous or follow.",
        );
      }
      const feed = context.queries.openLogs(asset, { app: name, ...range, ...(since !== undefined && { since }) });
      endWithClient(request, reply, context, feed);
      await feed.waitForFirstAnswer();
      return sendLog(context, request, reply, feed);
    },
  );
}

function sendLog(
  { streams }: ApiContext<"streams">,
  request: FastifyRequest,
  reply: FastifyReply,
  feed: LogFeed,
): FastifyReply {
  const format = negotiateLogFormat(request.headers.accept);
  return reply
    .headers({
      "Content-Type": `${format.mediaType}; charset=utf-8`,
      "X-Accel-Buffering": "no",
    })
    .send(Readable.from(streams.limiter.withStallTimeout(request, reply, writeLog(feed, format))));
}

async function* writeLog(feed: LogFeed, format: LogFormat): AsyncGenerator<string> {
  using _feed = feed;
  try {
    for await (const entries of feed.batches()) {
      yield entries.length === 0 ? "\n" : entries.map((entry) => format.entry(entry)).join("");
    }
  } catch (error) {
    if (!(error instanceof EdgeError)) throw error;
    yield format.failure(error);
  }
}

/** The log format preferred by the header `Accept`; NDJSON by default. */
function negotiateLogFormat(accept: string | undefined): LogFormat {
  // Each line is JSON.
  const preferred = preferredType(accept, ["application/x-ndjson", "application/json", "text/plain"]);
  return preferred === "text/plain" ? PLAIN_TEXT : NDJSON;
}
