import { z } from "zod";
import { deploymentActionSchema } from "./deployment-action.ts";
import { deploymentStatusSchema, errorCodeSchema } from "./deployment-event.ts";
import { sanitizedLine } from "./sanitized-text.ts";
import { unixSeconds } from "./scalars.ts";

/** The current state of an app. `missing`: its container is gone, and the agent is repairing it. */
export const appRunStateSchema = z.enum(["running", "restarting", "stopped", "unhealthy", "missing"]);
export type AppRunState = z.output<typeof appRunStateSchema>;

const count = z.int().min(0);

const lastDeployment = z
  .object({
    deployment_id: z.string().max(64),
    action: deploymentActionSchema,
    status: deploymentStatusSchema,
    code: errorCodeSchema.optional().catch(undefined),
    finished_at: unixSeconds(
      "When it ended; null while it is running, or when the device did not know the time.",
    ).nullable(),
  })
  .meta({ id: "LastDeployment" });

/** An app as its device reports it. */
export const appReportSchema = z
  .object({
    name: sanitizedLine(64),
    image: sanitizedLine(512),
    image_digest: sanitizedLine(256)
      .nullable()
      .meta({ description: "Digest of the image in its registry; null for an image that came from none." }),
    state: appRunStateSchema,
    desired_state: z.enum(["running", "stopped"]).meta({ description: "The state that was last requested." }),
    since: unixSeconds("When it entered this state; null when the device did not know the time.").nullable(),
    restarts: count.nullable().meta({ description: "Restarts by the engine; null when the container is missing." }),
    /** The current specification, with environment values masked. Not validated here. */
    spec: z.record(z.string(), z.unknown()),
    last_deployment: lastDeployment.nullable(),
  })
  .meta({ id: "AppReport" });
export type AppReport = z.output<typeof appReportSchema>;

/** Properties of a device that rarely change; sent with the report that follows a change. */
export const deviceFactsSchema = z
  .object({
    agent_version: sanitizedLine(64),
    engine: z.object({ kind: sanitizedLine(32), version: sanitizedLine(64) }).nullable(),
    architecture: sanitizedLine(32).nullable(),
    os: sanitizedLine(128).nullable().meta({ description: "Name and version of the operating system." }),
    kernel: sanitizedLine(128).nullable(),
    hostname: sanitizedLine(256).nullable(),
    model: sanitizedLine(128).nullable().meta({ description: "Hardware model, where the hardware reports it." }),
    cpus: count.nullable(),
    memory_total_bytes: count.nullable(),
    disk_total_bytes: count.nullable().meta({ description: "Of the file system on which the engine keeps images." }),
  })
  .meta({ id: "DeviceFacts" });
export type DeviceFacts = z.output<typeof deviceFactsSchema>;

/** Hash of a complete report, computed by the device; opaque to the control plane. */
export const reportHashSchema = z.string().min(1).max(64);

/** Maximum number of apps in one report. */
export const MAX_REPORTED_APPS = 500;

/** The changes since the report with the hash `base`; a complete report where `base` is null. */
export const reportDeltaSchema = z.object({
  base: reportHashSchema.nullable(),
  /** Hash of the complete report after these changes. */
  hash: reportHashSchema,
  /** New and changed apps, each complete. */
  apps: z.array(appReportSchema).max(MAX_REPORTED_APPS),
  removed_apps: z.array(sanitizedLine(64)).max(MAX_REPORTED_APPS),
  device: deviceFactsSchema.exactOptional(),
});
export type ReportDelta = z.output<typeof reportDeltaSchema>;
