import { z } from "zod";

/** Maximum text of one log line on the wire, in characters. A longer line is cut and marked as `truncated`. */
export const MAX_LOG_LINE_LENGTH = 8_192;

/** Maximum number of past lines that a query may request. */
export const MAX_LOG_TAIL_LINES = 10_000;

const logStreamSchema = z.enum(["stdout", "stderr"]);

export const appLogLineSchema = z
  .object({
    stream: logStreamSchema.meta({ description: "Where the app wrote the line." }),
    time: z
      .string()
      .max(64)
      .meta({
        description: "When the app wrote it, by the device's clock: RFC 3339, with the engine's precision.",
        examples: ["2026-11-20T10:00:00.123456789Z"],
      }),
    text: z.string().max(MAX_LOG_LINE_LENGTH).meta({ description: "The line, without its line break." }),
    truncated: z.literal(true).exactOptional().meta({ description: "The line was longer and has been cut." }),
  })
  .meta({ id: "AppLogLine" });
export type AppLogLine = z.output<typeof appLogLineSchema>;

/** One `answer` to a `logs` query. */
export const appLogChunkSchema = z.object({
  lines: z.array(appLogLineSchema).max(MAX_LOG_TAIL_LINES),
  /** Lines dropped before these, to stay within the bounds. */
  omitted_lines: z.int().min(0).default(0),
  omitted_bytes: z.int().min(0).default(0),
});
export type AppLogChunk = z.output<typeof appLogChunkSchema>;

/** Parameters of a `logs` query. */
export const logsParamsSchema = z.object({
  app: z.string().max(64),
  tail: z.int().min(0).max(MAX_LOG_TAIL_LINES).default(200),
  /** Unix seconds; earlier lines are left out. */
  since: z.int().min(0).exactOptional(),
  follow: z.boolean().default(false),
  /** What the app wrote before its present run. Excludes `follow`. */
  previous: z.boolean().default(false),
});
export type LogsParams = z.output<typeof logsParamsSchema>;
