import { z } from "zod";
import { deploymentActionSchema } from "./deployment-action.ts";
import { deploymentStatusSchema, errorCodeSchema } from "./deployment-event.ts";
import { sanitizedLine } from "./sanitized-text.ts";
import { unixSeconds } from "./scalars.ts";

/** What an app does right now. `missing`: its container is gone, and it is being put right. */
export const appRunStateSchema = z.enum(["running", "restarting", "stopped", "unhealthy", "missing"]);
export type AppRunState = z.output<typeof appRunStateSchema>;

const count = z.int().min(0);

const lastDeployment = z
  .object({
    deployment_id: z.string().max(64),
    action: deploymentActionSchema,
    status: deploymentStatusSchema,
    code: errorCodeSchema.optional().catch(undefined),
    finished_at: unixSeconds("When it ended; null while it goes on, or where the device had no clock.").nullable(),
  })
  .meta({ id: "LastDeployment" });

/** An app as its device sees it. */
export const appReportSchema = z
  .object({
    name: sanitizedLine(64),
    image: sanitizedLine(512),
    image_digest: sanitizedLine(256)
      .nullable()
      .meta({ description: "Digest the registry knows the image by; null where it came from none." }),
    state: appRunStateSchema,
    desired_state: z.enum(["running", "stopped"]).meta({ description: "What it was last told to be." }),
    since: unixSeconds("When it came into this state; null where the device had no clock.").nullable(),
    restarts: count.nullable().meta({ description: "Restarts by the engine; null where the container is missing." }),
    /** The specification in force. Values of environments are masked. Checked by whoever acts on it. */
    spec: z.record(z.string(), z.unknown()),
    last_deployment: lastDeployment.nullable(),
  })
  .meta({ id: "AppReport" });
export type AppReport = z.output<typeof appReportSchema>;

/** What of a device changes seldom, and is therefore told with every change of it. */
export const deviceFactsSchema = z
  .object({
    agent_version: sanitizedLine(64),
    engine: z.object({ kind: sanitizedLine(32), version: sanitizedLine(64) }).nullable(),
    architecture: sanitizedLine(32).nullable(),
    os: sanitizedLine(128).nullable().meta({ description: "Name and version of the operating system." }),
    kernel: sanitizedLine(128).nullable(),
    hostname: sanitizedLine(256).nullable(),
    model: sanitizedLine(128).nullable().meta({ description: "Model of the hardware, where it says so." }),
    cpus: count.nullable(),
    memory_total_bytes: count.nullable(),
    disk_total_bytes: count.nullable().meta({ description: "Of the file system the engine keeps images on." }),
  })
  .meta({ id: "DeviceFacts" });
export type DeviceFacts = z.output<typeof deviceFactsSchema>;

/** Hash of a complete report, as the device computes it; opaque to everyone else. */
export const reportHashSchema = z.string().min(1).max(64);

/** Most apps one report names. */
export const MAX_REPORTED_APPS = 500;

/** What changed since the report whose hash is `base`; complete where that is null. */
export const reportDeltaSchema = z.object({
  base: reportHashSchema.nullable(),
  /** Hash of the complete report this leads to. */
  hash: reportHashSchema,
  /** Apps that are new or changed, whole. */
  apps: z.array(appReportSchema).max(MAX_REPORTED_APPS),
  removed_apps: z.array(sanitizedLine(64)).max(MAX_REPORTED_APPS),
  device: deviceFactsSchema.exactOptional(),
});
export type ReportDelta = z.output<typeof reportDeltaSchema>;
