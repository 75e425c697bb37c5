import { z } from "zod";

/** Most apps and network interfaces one day names. */
const MAX_NAMES_PER_DAY = 500;

/** As apps may be called, or ever might. */
const reportedAppName = z
  .string()
  .max(64)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/, "must be the name of an app");

/** What the agent's own traffic is for. */
export const trafficPurposeSchema = z.enum(["control", "telemetry", "logs", "pulls"]);
export type TrafficPurpose = z.output<typeof trafficPurposeSchema>;

const bytes = z.int().min(0);
const both = { sent_bytes: bytes, received_bytes: bytes };

/** A day of UTC, as `YYYY-MM-DD`. */
export const utcDaySchema = z
  .string()
  .max(10)
  .regex(/^\d{4}-\d{2}-\d{2}$/, "must be a day: YYYY-MM-DD");

const purposes = z
  .partialRecord(trafficPurposeSchema, z.object(both))
  .meta({ description: "What the agent itself sent and received, payload and TLS, by purpose." });

function hasAllowedSize(names: object): boolean {
  return Object.keys(names).length <= MAX_NAMES_PER_DAY;
}

const day = z
  .object({
    day: utcDaySchema,
    by_purpose: purposes,
    overhead_estimate_bytes: bytes.meta({ description: "Estimate: headers of TCP and IP, handshakes." }),
    by_app: z
      .record(reportedAppName, bytes)
      .refine(hasAllowedSize, "names too many apps")
      .meta({ maxProperties: MAX_NAMES_PER_DAY, description: "Of that, what was pulled or sent for each app." }),
    interfaces: z.record(z.string().max(64), z.object(both)).refine(hasAllowedSize, "names too many interfaces").meta({
      maxProperties: MAX_NAMES_PER_DAY,
      description: "The kernel's own counters by network interface: the agent, the apps and all else.",
    }),
  })
  .meta({ id: "DeviceDataUsageDay" });

const deployment = z
  .object({
    deployment_id: z.string().max(64),
    app: z.string().max(64),
    day: utcDaySchema,
    ...both,
  })
  .meta({ id: "DeploymentDataUsage" });

const budget = z
  .object({
    monthly_bytes: bytes.nullable(),
    daily_bytes: bytes.nullable(),
    used_this_month_bytes: bytes,
    used_today_bytes: bytes,
  })
  .meta({ id: "DataBudget", description: "Limits of the device's own configuration, and what counts against them." });

/** Bytes the agent counted, by day of UTC, oldest first. */
export const deviceDataUsageSchema = z
  .object({
    days: z.array(day).max(400),
    deployments: z.array(deployment).max(500),
    budget: budget.nullable(),
  })
  .meta({ id: "DeviceDataUsage" });
export type DeviceDataUsage = z.output<typeof deviceDataUsageSchema>;

/** Parameters of a `data_usage` query: days of UTC, both included. */
export const dataUsageParamsSchema = z.object({ from: utcDaySchema, to: utcDaySchema });
export type DataUsageParams = z.output<typeof dataUsageParamsSchema>;
