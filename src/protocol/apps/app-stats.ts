import { z } from "zod";
import { appRunStateSchema } from "./app-report.ts";
import { unixSeconds } from "../values/scalars.ts";

/** Maximum number of apps in one answer. */
export const MAX_STATS_APPS = 500;

/** Bounds of the seconds between two answers of a query that is followed. */
export const MIN_STATS_INTERVAL_S = 1;
export const MAX_STATS_INTERVAL_S = 60;
export const DEFAULT_STATS_INTERVAL_S = 2;

const bytes = (description: string) => z.int().min(0).meta({ description });
const rate = (description: string) =>
  z
    .int()
    .min(0)
    .nullable()
    .meta({ description: `${description} \`null\` if the app was started since the measurement before.` });

export const appUsageSchema = z
  .object({
    app: z
      .string()
      .max(64)
      .meta({ description: "Name of the app.", examples: ["node-red"] }),
    state: appRunStateSchema.meta({ description: "State of its container now." }),
    cpu_percent: z
      .number()
      .min(0)
      .nullable()
      .meta({ description: "Percent of one processor, so that 200 is two processors.", examples: [3.4] }),
    memory_bytes: bytes("Memory in use, without what the kernel can take back.").nullable(),
    memory_limit_bytes: bytes("The app's memory limit; the device's memory if it has none.").nullable(),
    network: z
      .object({
        received_bytes: bytes("Received since its container was started."),
        sent_bytes: bytes("Sent since its container was started."),
        received_bytes_per_s: rate("Received per second."),
        sent_bytes_per_s: rate("Sent per second."),
      })
      .nullable()
      .meta({ description: "`null` for an app in the device's network, whose bytes are not told apart." }),
    disk: z
      .object({
        read_bytes: bytes("Read from disks since its container was started."),
        written_bytes: bytes("Written to disks since its container was started."),
        read_bytes_per_s: rate("Read per second."),
        written_bytes_per_s: rate("Written per second."),
      })
      .nullable()
      .meta({ description: "`null` where the device's kernel does not count it." }),
    writable_bytes: bytes(
      "Disk space of what it changed in its own file system, without volumes. Not measured while followed.",
    ).nullable(),
    processes: z.int().min(0).nullable().meta({ description: "Number of its processes and threads." }),
  })
  .meta({
    id: "AppUsage",
    description: "What one app uses. A value is `null` if it is not known or the app does not run.",
  });
export type AppUsage = z.output<typeof appUsageSchema>;

/** One `answer` to a `stats` query. */
export const appStatsSchema = z
  .object({
    measured_at: unixSeconds("When it was measured, by the device's clock."),
    apps: z.array(appUsageSchema).max(MAX_STATS_APPS).meta({ description: "By name." }),
    omitted_apps: z
      .int()
      .min(0)
      .default(0)
      .meta({ description: `Number of apps left out, beyond ${MAX_STATS_APPS}.` }),
  })
  .meta({ id: "AppStats" });
export type AppStats = z.output<typeof appStatsSchema>;

/** Parameters of a `stats` query. */
export const statsParamsSchema = z.object({
  /** One app only; all apps without it. */
  app: z.string().max(64).exactOptional(),
  /** Measures again every `interval_s` until the query is cancelled. Otherwise there is one answer. */
  follow: z.boolean().default(false),
  interval_s: z.int().min(MIN_STATS_INTERVAL_S).max(MAX_STATS_INTERVAL_S).default(DEFAULT_STATS_INTERVAL_S),
});
export type StatsParams = z.output<typeof statsParamsSchema>;
