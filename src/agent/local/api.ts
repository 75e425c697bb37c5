import { z } from "zod";
import { deviceDataUsageSchema, trafficPurposeSchema } from "../../protocol/data-usage.ts";
import "../config/uncompiled-schemas.ts";
import { historyEntrySchema } from "../store/history.ts";

/*
 * What the agent answers on its unix socket. A command checks the answers of a daemon of another version against these;
 * otherwise only the types are taken, and the schemas are not loaded.
 */

const portSchema = z.object({ host_port: z.int(), target_port: z.int() });

const appSummarySchema = z.object({
  name: z.string(),
  image: z.string(),
  state: z.string(),
  /** What is wrong, in words; `null` while nothing is. */
  trouble: z.string().nullable(),
  ports: z.array(portSchema),
  host_network: z.boolean(),
  /** How often the engine restarted it; `null` without a container. */
  restarts: z.int().nullable(),
  /** When the current or last run began, as the engine writes it. */
  started_at: z.string().nullable(),
});
export type AppSummary = z.output<typeof appSummarySchema>;

const engineSchema = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), kind: z.string(), version: z.string() }),
  z.object({ ok: z.literal(false), reason: z.string() }),
]);
export type EngineResponse = z.output<typeof engineSchema>;

const diskSchema = z.object({
  /** Where the engine keeps images. */
  path: z.string(),
  free_bytes: z.number(),
  /** What has to stay free; below it nothing is deployed. */
  reserve_bytes: z.number(),
});

const goingDeploymentSchema = z.object({
  id: z.string(),
  app: z.string(),
  origin: z.string(),
  step: z.string(),
  message: z.string(),
  /** Percent, while pulling. */
  progress: z.number().nullable(),
});

/** The part of the status that can be told without the daemon. */
const deviceStatusSchema = z.object({
  engine: engineSchema,
  disk: diskSchema.nullable(),
  apps: z.array(appSummarySchema),
  deployments: z.array(goingDeploymentSchema),
});
export type DeviceStatus = z.output<typeof deviceStatusSchema>;

const linkSchema = z.object({
  state: z.enum(["connecting", "online", "waiting", "stopped"]),
  control_plane: z.string(),
  /** Seconds since it is online, or since it is not. */
  for_s: z.number(),
  next_try_in_s: z.number().nullable(),
  /** How the last attempt or session ended, and how many seconds ago. */
  last_error: z.object({ reason: z.string(), ago_s: z.number() }).nullable(),
  asset: z.object({ uuid: z.string(), serial_number: z.string(), name: z.string() }).nullable(),
  reconnects: z.int(),
});
export type LinkResponse = z.output<typeof linkSchema>;

const purposesSchema = z.partialRecord(trafficPurposeSchema, z.int());

/** What the agent itself sent and received over the network, headers estimated, and how that stands to the budgets. */
const dataUsedSchema = z.object({
  today_bytes: z.int(),
  month_bytes: z.int(),
  /** Of the month, without headers. */
  by_purpose: purposesSchema,
  /** What counts against the configured budgets, of this day and month; `null` where there are none. */
  budget: deviceDataUsageSchema.shape.budget,
});
export type DataUsed = z.output<typeof dataUsedSchema>;

const statusSchema = z.object({
  agent: z.object({ version: z.string(), pid: z.int(), uptime_s: z.number(), memory_bytes: z.number() }),
  link: linkSchema,
  device: deviceStatusSchema,
  /** `null` where the ledger cannot be read; left out by agents that keep none. */
  data: dataUsedSchema.nullable().default(null),
});
export type Status = z.output<typeof statusSchema>;

/** Counters of a running app since its start; `null` for what the engine does not tell. */
const appUsageSchema = z.object({
  cpu_ns: z.number(),
  memory_bytes: z.number(),
  memory_limit_bytes: z.number().nullable(),
  received_bytes: z.number().nullable(),
  sent_bytes: z.number().nullable(),
});
export type AppUsage = z.output<typeof appUsageSchema>;

/** One look at what the apps use. */
const topSchema = z.object({
  /** Milliseconds of the device's monotonic clock. */
  at_ms: z.number(),
  link: linkSchema,
  disk: diskSchema.nullable(),
  apps: z.array(appSummarySchema.extend({ usage: appUsageSchema.nullable() })),
});
export type Top = z.output<typeof topSchema>;

const containerSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  restart_count: z.int(),
  exit_code: z.int(),
  oom_killed: z.boolean(),
  started_at: z.string(),
  health: z.enum(["none", "starting", "healthy", "unhealthy"]),
  health_output: z.string(),
});

/** Everything there is to know of why an app runs, or does not. Text that the app wrote is masked. */
const appFactsSchema = z.object({
  name: z.string(),
  /** What was deployed; `null` where no deployment of it succeeded. Of its environment only the names. */
  deployed: z
    .object({
      deployment_id: z.string(),
      /** What it should be: an app that was stopped stays so. */
      desired: z.enum(["running", "stopped"]).default("running"),
      image: z.string(),
      host_network: z.boolean(),
      privileged: z.boolean(),
      ports: z.array(portSchema),
      volumes: z.array(z.object({ local: z.string(), target: z.string(), readonly: z.boolean() })),
      variables: z.array(z.string()),
    })
    .nullable(),
  /** Why the engine could not be asked; then nothing is known of container and image. */
  engine_error: z.string().nullable(),
  container: containerSchema.nullable(),
  image_present: z.boolean().nullable(),
  /** Who has ports of the app while it does not run itself. */
  taken_ports: z.array(z.object({ port: z.int(), holder: z.string() })),
  /** The rule of the device's policy that it breaks, in words: then it is not started. Left out by older agents. */
  forbidden: z.string().nullable().default(null),
  /** A deployment that is at work on it. */
  deploying: goingDeploymentSchema.nullable(),
  last_deployment: historyEntrySchema.nullable(),
  last_repair: historyEntrySchema.nullable(),
  /** Last lines of its output. */
  log: z.array(z.string()),
});
export type AppFacts = z.output<typeof appFactsSchema>;

/** One line of a log that is streamed. */
const logLineSchema = z.object({ line: z.string() });

/** One thing that happened, as it is streamed: of a deployment, one event at a time. */
const happeningSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("event"),
    at: z.int().nullable(),
    app: z.string(),
    deployment_id: z.string(),
    origin: z.string(),
    status: z.string(),
    step: z.string(),
    message: z.string(),
    code: z.string().exactOptional(),
    progress: z.number().exactOptional(),
    details: z.record(z.string(), z.unknown()).exactOptional(),
  }),
  z.object({
    kind: z.literal("repair"),
    at: z.int(),
    app: z.string(),
    reason: z.string(),
    error: z.string().exactOptional(),
  }),
]);
export type Activity = z.output<typeof happeningSchema>;

/** What a clean-up of images did, or would do. */
const cleanupSchema = z.object({
  dry_run: z.boolean(),
  removed: z.array(z.object({ reference: z.string(), bytes: z.number(), reason: z.enum(["age", "disk"]) })),
  /** Images that no app needs, and that stay all the same. */
  kept: z.array(z.object({ reference: z.string(), bytes: z.number(), why: z.string() })),
  freed_bytes: z.number(),
});
export type CleanupResponse = z.output<typeof cleanupSchema>;

/** What can be asked for, by the name it is asked for with. */
export const responseSchemas = {
  app: appFactsSchema,
  cleanup: cleanupSchema,
  happening: happeningSchema,
  logLine: logLineSchema,
  status: statusSchema,
  top: topSchema,
};
export type LocalResponses = {
  readonly [Kind in keyof typeof responseSchemas]: z.output<(typeof responseSchemas)[Kind]>;
};
