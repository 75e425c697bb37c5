import { z } from "zod";
import { booleanString, integerString, MAX_UNIX_SECONDS, unixSeconds } from "../values/scalars.ts";
import { tableFormatSchema } from "../values/table-format.ts";

/** What a device samples of itself. Shares are of what there is, in percent. In the order of `health-rows.ts`: new ones follow. */
export const HEALTH_METRICS = [
  "cpu_percent",
  "memory_percent",
  "swap_percent",
  "disk_percent",
  "inodes_percent",
  "temperature_celsius",
  "throttled_percent",
  "signal_percent",
  "rsrp_dbm",
  "rsrq_db",
  "sinr_db",
  "roaming_percent",
  "mobile_generation",
] as const;
/** What a device sends only when it is asked: it changes all the time, and `signal_percent` says the same in fewer bytes. */
const ASKED_FOR = ["rsrp_dbm", "rsrq_db", "sinr_db"] as const;
export type ReportedHealthMetric = Exclude<HealthMetric, (typeof ASKED_FOR)[number]>;
export const REPORTED_HEALTH_METRICS = HEALTH_METRICS.filter(
  (metric): metric is ReportedHealthMetric => !ASKED_FOR.some((other) => other === metric),
);
const healthMetricSchema = z.enum(HEALTH_METRICS).meta({
  id: "HealthMetric",
  description:
    "What was measured. The disk is the file system with the agent's state, the temperature the highest of " +
    "the sensors; throttling is there where the machine tells, and what is of the modem where ModemManager runs.",
});
export type HealthMetric = z.output<typeof healthMetricSchema>;

/** Points of one answer. */
const MAX_HEALTH_POINTS = 200;
const DEFAULT_HEALTH_POINTS = 96;
/** How long a device keeps its samples, and how many seconds one row of them covers. */
export const HEALTH_KEPT_S = 48 * 3_600;
export const HEALTH_ROW_S = 300;
/** Bounds of every value. */
export const MIN_HEALTH_VALUE = -200;
export const MAX_HEALTH_VALUE = 1_000;
/** Apps of one answer, and of one day on record. */
export const MAX_ANSWERED_APPS = 32;

const time = z.int().min(0).max(MAX_UNIX_SECONDS);

/** Parameters of the query `health`. */
export const healthParamsSchema = z.object({
  from: time,
  to: time,
  points: z.int().min(1).max(MAX_HEALTH_POINTS),
  /** With what its apps used. */
  apps: z.boolean().exactOptional(),
});
export type HealthParams = z.output<typeof healthParamsSchema>;

const values = (what: string) =>
  z
    .array(z.number().min(MIN_HEALTH_VALUE).max(MAX_HEALTH_VALUE).nullable())
    .max(MAX_HEALTH_POINTS)
    .meta({ description: `${what} of each point; \`null\` where it was not measured.` });

const seriesSchema = z
  .object({
    metric: healthMetricSchema,
    min: values("Lowest value"),
    mean: values("Mean"),
    max: values("Highest value"),
  })
  .meta({ id: "HealthSeries" });

const appColumn = (value: z.ZodNumber, what: string) =>
  z
    .array(value.min(0).nullable())
    .max(MAX_HEALTH_POINTS)
    .meta({
      description: `${what} of each point; \`null\` where it was not measured, such as while the app did not run.`,
    });
const peaks = (value: z.ZodNumber, what: string) =>
  z.object({ mean: appColumn(value, "Mean"), max: appColumn(value, "Highest value") }).meta({ description: what });

/** What apps used, in columns. */
const appHealthSchema = z
  .object({
    interval_s: z.int().min(HEALTH_ROW_S).max(MAX_UNIX_SECONDS).meta({ description: "Seconds that one point covers." }),
    at: z
      .array(unixSeconds("Start of the point."))
      .max(MAX_HEALTH_POINTS)
      .meta({ description: "The points, the oldest first." }),
    apps: z
      .array(
        z
          .object({
            app: z
              .string()
              .max(64)
              .meta({ description: "Name of the app.", examples: ["node-red"] }),
            cpu_percent: peaks(z.number(), "Percent of one processor, so that 200 is two processors; within 9 %."),
            memory_bytes: peaks(z.int(), "Memory in use, without what the kernel can take back; within 4.5 %."),
            restarts: appColumn(z.int(), "How often it was started again, at most once a minute,"),
          })
          .meta({ id: "AppHealthColumns" }),
      )
      .max(MAX_ANSWERED_APPS)
      .meta({ description: "By name." }),
    omitted_apps: z
      .int()
      .min(0)
      .meta({ description: `Number of apps left out, beyond the ${MAX_ANSWERED_APPS} with the most memory.` }),
  })
  .meta({ id: "AppHealth", description: "What the apps used." });
export type AppHealth = z.output<typeof appHealthSchema>;

/** How a device was, in columns. */
export const deviceHealthSchema = z
  .object({
    interval_s: z.int().min(HEALTH_ROW_S).max(MAX_UNIX_SECONDS).meta({ description: "Seconds that one point covers." }),
    at: z
      .array(unixSeconds("Start of the point."))
      .max(MAX_HEALTH_POINTS)
      .meta({ description: "The points, the oldest first. Where the device has no samples there is no point." }),
    series: z
      .array(seriesSchema)
      .max(HEALTH_METRICS.length)
      .meta({ description: "What was measured, at these points." }),
    apps: appHealthSchema.exactOptional(),
  })
  .meta({ id: "DeviceHealth" });
export type DeviceHealth = z.output<typeof deviceHealthSchema>;

/** The same, as the API returns it. */
export const assetHealthSchema = z
  .object({
    source: z.enum(["device", "service"]).meta({
      description: "Who had it: the device, which was asked, or the service, to which the device has sent it before.",
    }),
    ...deviceHealthSchema.shape,
  })
  .meta({ id: "AssetHealth" });
export type AssetHealth = z.output<typeof assetHealthSchema>;

/** Query of Get Health. */
export const healthQuerySchema = z.strictObject({
  from: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({ description: "Unix seconds, inclusive; 48 hours before `to` by default, 400 days at most." }),
  to: integerString(0, MAX_UNIX_SECONDS).optional().meta({ description: "Unix seconds; now by default, and at most." }),
  source: z
    .enum(["device", "service"])
    .optional()
    .meta({
      description:
        "`device`: it is asked, for 48 hours at most; `service`: what the service has on record. By default the device is asked if it is " +
        "connected and keeps the whole range.",
    }),
  apps: booleanString()
    .default(false)
    .meta({ description: "`true`: also what the apps of the device used, at points of their own." }),
  points: integerString(1, MAX_HEALTH_POINTS)
    .default(DEFAULT_HEALTH_POINTS)
    .meta({ description: `Maximum number of points, 1 to ${MAX_HEALTH_POINTS}; ${DEFAULT_HEALTH_POINTS} by default.` }),
  format: tableFormatSchema,
});
