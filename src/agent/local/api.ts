import { z } from "zod";
import { deviceDataUsageSchema } from "../../protocol/link/data-usage.ts";
import "../config/uncompiled-schemas.ts";
import { appStatsSchema } from "../../protocol/apps/app-stats.ts";
import { historyEntrySchema } from "../store/history.ts";
import { anyObject } from "../../protocol/values/scalars.ts";

/*
 * Responses of the local API. A command validates the responses of a daemon of another version with these schemas. With
 * a daemon of its own version it uses the types only and does not load the schemas, to start faster.
 */

const portSchema = z.object({
  host_port: z.int(),
  target_port: z.int(),
  protocol: z.string().optional(),
  /** All of the device's addresses if absent. */
  host_address: z.string().optional(),
});

const appSummarySchema = z.object({
  name: z.string(),
  image: z.string(),
  state: z.string(),
  /** Problem as text; `null` if there is none. */
  trouble: z.string().nullable(),
  ports: z.array(portSchema),
  host_network: z.boolean(),
  /** Number of restarts by the engine; `null` without a container. */
  restarts: z.int().nullable(),
  /** Start of the current or last run, in the engine's format. */
  started_at: z.string().nullable(),
});
export type AppSummary = z.output<typeof appSummarySchema>;

const engineSchema = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), kind: z.enum(["docker", "podman"]), version: z.string() }),
  z.object({ ok: z.literal(false), reason: z.string() }),
]);
export type EngineResponse = z.output<typeof engineSchema>;

const diskSchema = z.object({
  /** Directory in which the engine keeps images. */
  path: z.string(),
  free_bytes: z.number(),
  /** Below this much free space nothing is deployed. */
  reserve_bytes: z.number(),
});

const pendingDeploymentSchema = z.object({
  id: z.string(),
  app: z.string(),
  origin: z.string(),
  step: z.string(),
  message: z.string(),
  /** Percent, while pulling. */
  progress: z.number().nullable(),
});

/** The part of the status that can be read without the daemon. */
const deviceStatusSchema = z.object({
  engine: engineSchema,
  disk: diskSchema.nullable(),
  apps: z.array(appSummarySchema),
  deployments: z.array(pendingDeploymentSchema),
});
export type DeviceStatus = z.output<typeof deviceStatusSchema>;

const linkSchema = z.object({
  state: z.enum(["connecting", "online", "waiting", "stopped"]),
  control_plane: z.string(),
  /** Seconds since the link went online or offline. */
  for_s: z.number(),
  next_try_in_s: z.number().nullable(),
  /** Why the last attempt or session ended, and how many seconds ago. */
  last_error: z.object({ reason: z.string(), ago_s: z.number() }).nullable(),
  asset: z.object({ uuid: z.string(), serial_number: z.string(), name: z.string() }).nullable(),
  reconnects: z.int(),
  /** Silence after which the link is probed on this network, as it was learned. Older agents leave it out. */
  keepalive_s: z.number().nullable().default(null),
});
export type LinkResponse = z.output<typeof linkSchema>;

/** Bytes the agent itself sent and received over the network, with estimated headers, and the budgets. */
const dataUsedSchema = z.object({
  today_bytes: z.int(),
  month_bytes: z.int(),
  /** Of this month, without headers. */
  by_purpose: z.record(z.string(), z.int()),
  /** Headers of this month, estimated. Older agents leave it out. */
  overhead_bytes: z.int().default(0),
  /** Use of the configured budgets today and this month; `null` if none is configured. */
  budget: deviceDataUsageSchema.shape.budget,
});
export type DataUsed = z.output<typeof dataUsedSchema>;

const statusSchema = z.object({
  agent: z.object({ version: z.string(), pid: z.int(), uptime_s: z.number(), memory_bytes: z.number() }),
  link: linkSchema,
  device: deviceStatusSchema,
  /** `null` if the ledger cannot be read. Older agents leave it out. */
  data: dataUsedSchema.nullable().default(null),
  /** How the time of day has jumped, as text, while that is not believed yet. Older agents leave it out. */
  clock: z.string().nullable().default(null),
  /** Work that pauses since the agent has crashed during it, each as text. Older agents leave it out. */
  held: z.array(z.string()).default([]),
  /** What is wrong with the engine, and what to do. Older agents leave it out. */
  engine_troubles: z.array(z.object({ text: z.string(), next: z.string() })).default([]),
  /** Why no network interface leads out of the device, and what to do; `null` if one does. Older agents leave it out. */
  network_fault: z.object({ text: z.string(), next: z.string() }).nullable().default(null),
  /** Why the agent cannot write its state, and what to do; `null` if it can. Older agents leave it out. */
  state_fault: z.object({ text: z.string(), next: z.string() }).nullable().default(null),
});
export type Status = z.output<typeof statusSchema>;

/** Counters of a running app since its start; `null` for those the engine does not report. */
const appUsageSchema = z.object({
  cpu_ns: z.number(),
  memory_bytes: z.number(),
  memory_limit_bytes: z.number().nullable(),
  received_bytes: z.number().nullable(),
  sent_bytes: z.number().nullable(),
});
export type AppUsage = z.output<typeof appUsageSchema>;

/** One sample of the resources the apps use. */
const topSchema = z.object({
  /** Time of the sample on the device's monotonic clock. */
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
  /** `null` if its policy sets no limit. */
  max_restarts: z.int().nullable().default(null),
  /** 0 while a run is going on. */
  exit_code: z.int(),
  oom_killed: z.boolean(),
  /** How the run before the present one ended; `null` if that is not known. Older agents leave it out. */
  last_exit: z.object({ exit_code: z.int(), oom_killed: z.boolean() }).nullable().default(null),
  started_at: z.string(),
  health: z.enum(["none", "starting", "healthy", "unhealthy"]),
  health_output: z.string(),
});

/** The facts that explain why an app runs or not. Secrets are masked in text that the app wrote. */
const appFactsSchema = z.object({
  name: z.string(),
  /** The deployed specification; `null` if no deployment of the app succeeded. */
  deployed: z
    .object({
      deployment_id: z.string(),
      desired: z.enum(["running", "stopped"]).default("running"),
      image: z.string(),
      host_network: z.boolean(),
      privileged: z.boolean(),
      /** `null` if the app has none of its own. Older agents leave it out. */
      restart_policy: z.string().nullable().default(null),
      ports: z.array(portSchema),
      volumes: z.array(
        z.object({
          /** A path of the device, or the name of a volume that the agent manages. */
          local: z.string().exactOptional(),
          name: z.string().exactOptional(),
          target: z.string(),
          readonly: z.boolean(),
        }),
      ),
      /** Names only. */
      variables: z.array(z.string()),
      /** Names with ports under which other apps reach it. Older agents leave it out. */
      reached_as: z.array(z.string()).default([]),
    })
    .nullable(),
  /** Error of the engine. With an error, container and image are unknown. */
  engine_error: z.string().nullable(),
  container: containerSchema.nullable(),
  image_present: z.boolean().nullable(),
  /** Ports of the app that others use while it is not running. */
  /** That another tool has made its container, as text; `null` if the agent has. Older agents leave it out. */
  foreign: z.string().nullable().default(null),
  /** A path that it mounts from a disk that fails or is gone. Older agents leave it out. */
  failed_disk: z.string().nullable().default(null),
  /** Its device files that are not on the device; empty while it runs. Older agents leave it out. */
  missing_devices: z.array(z.string()).default([]),
  taken_ports: z.array(z.object({ port: z.int(), holder: z.string() })),
  /** The violated rule of the device's policy, as text; the app is not started then. Older agents leave it out. */
  forbidden: z.string().nullable().default(null),
  /** Why the agent does not bring the app back yet, as text. Older agents leave it out. */
  not_repaired: z.string().nullable().default(null),
  held: z.string().nullable().default(null),
  /** The deployment in progress. */
  deploying: pendingDeploymentSchema.nullable(),
  last_deployment: historyEntrySchema.nullable(),
  last_repair: historyEntrySchema.nullable(),
  /** Last lines of the app's output. */
  log: z.array(z.string()),
});
export type AppFacts = z.output<typeof appFactsSchema>;

/** One line of a streamed log. */
const logLineSchema = z.object({ line: z.string() });

/** One streamed activity: an event of a deployment, or a repair. */
const activitySchema = z.discriminatedUnion("kind", [
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
    details: anyObject.exactOptional(),
  }),
  z.object({
    kind: z.literal("repair"),
    at: z.int(),
    app: z.string(),
    reason: z.string(),
    error: z.string().exactOptional(),
  }),
]);
export type Activity = z.output<typeof activitySchema>;

/** Result of a clean-up of images, or of its dry run. */
const cleanupSchema = z.object({
  dry_run: z.boolean(),
  removed: z.array(z.object({ reference: z.string(), bytes: z.number(), reason: z.enum(["age", "disk"]) })),
  /** Images that no app needs but that were kept. */
  kept: z.array(z.object({ reference: z.string(), bytes: z.number(), why: z.string() })),
  freed_bytes: z.number(),
});
export type CleanupResponse = z.output<typeof cleanupSchema>;

/** The volumes that the agent manages. */
const volumesSchema = z.object({
  volumes: z.array(
    z.object({
      name: z.string(),
      apps: z.array(z.object({ app: z.string(), readonly: z.boolean() })),
      apps_left_out: z.int(),
      /** `null` if they were not measured. */
      size_bytes: z.number().nullable(),
      created_at: z.int().nullable(),
    }),
  ),
  left_out: z.int(),
});
export type VolumesResponse = z.output<typeof volumesSchema>;

/** The schema of each kind of response. */
export const responseSchemas = {
  app: appFactsSchema,
  appStats: appStatsSchema,
  cleanup: cleanupSchema,
  volumes: volumesSchema,
  activity: activitySchema,
  logLine: logLineSchema,
  status: statusSchema,
  top: topSchema,
};
export type LocalResponses = {
  readonly [Kind in keyof typeof responseSchemas]: z.output<(typeof responseSchemas)[Kind]>;
};
