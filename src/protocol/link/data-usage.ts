import { z } from "zod";

/** Maximum number of apps, of network interfaces, and of purposes, in one day. */
const MAX_NAMES_PER_DAY = 500;

/** Wider than the current rule for app names, for reports of other releases. */
const reportedAppName = z
  .string()
  .max(64)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/, "must be the name of an app");

/** What the agent's own traffic is for; `other`: for a purpose that only another version knows. */
export const trafficPurposeSchema = z.enum([
  "control",
  "telemetry",
  "logs",
  "pulls",
  "remote_access",
  "agent",
  "other",
]);
export type TrafficPurpose = z.output<typeof trafficPurposeSchema>;

const bytes = z.int().min(0);
const both = {
  sent_bytes: bytes.meta({ description: "Bytes sent." }),
  received_bytes: bytes.meta({ description: "Bytes received." }),
};

const byteCounts = z.object(both);

/** A day of UTC, as `YYYY-MM-DD`. */
export const utcDaySchema = z
  .string()
  .max(10)
  .regex(/^\d{4}-\d{2}-\d{2}$/, "must be a day: YYYY-MM-DD");

function hasAllowedSize(names: object): boolean {
  return Object.keys(names).length <= MAX_NAMES_PER_DAY;
}

/** Counts purposes that are not known here, such as those of a newer agent, as `other`: their bytes are in every total. */
function foldUnknownPurposes(
  purposes: Readonly<Record<string, z.output<typeof byteCounts>>>,
): Partial<Record<TrafficPurpose, z.output<typeof byteCounts>>> {
  const folded: Partial<Record<TrafficPurpose, z.output<typeof byteCounts>>> = {};
  for (const [name, { sent_bytes: sent, received_bytes: received }] of Object.entries(purposes)) {
    const purpose = trafficPurposeSchema.catch("other").parse(name);
    const { sent_bytes = 0, received_bytes = 0 } = folded[purpose] ?? {};
    folded[purpose] = { sent_bytes: sent_bytes + sent, received_bytes: received_bytes + received };
  }
  return folded;
}

const purposes = z
  .record(z.string().max(64), byteCounts)
  .refine(hasAllowedSize, "names too many purposes")
  .meta({ maxProperties: MAX_NAMES_PER_DAY })
  .transform(foldUnknownPurposes)
  .pipe(z.partialRecord(trafficPurposeSchema, byteCounts))
  .meta({ description: "Bytes the agent itself sent and received, payload and TLS, by purpose." });

const day = z
  .object({
    day: utcDaySchema.meta({ description: "The day, UTC." }),
    by_purpose: purposes,
    overhead_estimate_bytes: bytes.meta({ description: "Estimated bytes of TCP and IP headers and handshakes." }),
    by_app: z.record(reportedAppName, bytes).refine(hasAllowedSize, "names too many apps").meta({
      maxProperties: MAX_NAMES_PER_DAY,
      description: "The part of these bytes that was pulled or sent for each app.",
    }),
    interfaces: z.record(z.string().max(64), z.object(both)).refine(hasAllowedSize, "names too many interfaces").meta({
      maxProperties: MAX_NAMES_PER_DAY,
      description: "The kernel's counters by network interface: all traffic of the device, including agent and apps.",
    }),
  })
  .meta({ id: "DeviceDataUsageDay" });

const deployment = z
  .object({
    deployment_id: z.string().max(64).meta({ description: "Id of the deployment." }),
    app: z.string().max(64).meta({ description: "Name of its app." }),
    day: utcDaySchema.meta({ description: "The day, UTC." }),
    ...both,
  })
  .meta({ id: "DeploymentDataUsage" });

const budget = z
  .object({
    monthly_bytes: bytes.nullable().meta({ description: "Limit per month, UTC; null for none." }),
    daily_bytes: bytes.nullable().meta({ description: "Limit per day, UTC; null for none." }),
    used_this_month_bytes: bytes.meta({ description: "Bytes counted this month." }),
    used_today_bytes: bytes.meta({ description: "Bytes counted today." }),
  })
  .meta({
    id: "DataBudget",
    description: "Limits from the device's configuration, and the bytes counted against them.",
  });

/** Bytes counted by the agent, by UTC day, oldest first. */
export const deviceDataUsageSchema = z
  .object({
    days: z.array(day).max(400).meta({ description: "Bytes counted by the device, by day, oldest first." }),
    deployments: z
      .array(deployment)
      .max(500)
      .meta({ description: "The part of these bytes that each deployment used." }),
    budget: budget.nullable().meta({ description: "The device's data budget; null if it has none." }),
  })
  .meta({ id: "DeviceDataUsage" });
export type DeviceDataUsage = z.output<typeof deviceDataUsageSchema>;

/** Parameters of a `data_usage` query: UTC days, inclusive. */
export const dataUsageParamsSchema = z.object({ from: utcDaySchema, to: utcDaySchema });
export type DataUsageParams = z.output<typeof dataUsageParamsSchema>;
