import { z } from "zod";
import { appChangeSchema } from "./app-change.ts";
import { appFleetSchema } from "./app-fleet.ts";
import { deploymentActionSchema } from "../deployments/deployment-action.ts";
import { deploymentStatusSchema, errorCodeSchema } from "../deployments/deployment-event.ts";
import { sanitizedLine } from "../values/sanitized-text.ts";
import { anyObject, unixSeconds } from "../values/scalars.ts";

/** The current state of an app. `missing`: its container is gone, and the agent is repairing it. */
export const appRunStateSchema = z.enum(["running", "restarting", "stopped", "unhealthy", "missing"]);
export type AppRunState = z.output<typeof appRunStateSchema>;

const count = z.int().min(0);

const lastDeployment = z
  .object({
    deployment_id: z.string().max(64).meta({ description: "Id of the deployment." }),
    action: deploymentActionSchema.meta({ description: "What the deployment does to the app." }),
    status: deploymentStatusSchema.meta({ description: "`Running`, or how it ended." }),
    code: errorCodeSchema.optional().catch(undefined).meta({ description: "With `Fail`: the error code." }),
    finished_at: unixSeconds(
      "When it ended; null while it is running, or when the device did not know the time.",
    ).nullable(),
  })
  .meta({ id: "LastDeployment", description: "The latest deployment of an app." });

const lastExit = z
  .object({
    code: z.int().meta({ description: "Exit code.", examples: [137] }),
    out_of_memory: z
      .literal(true)
      .exactOptional()
      .meta({ description: "Set if it was ended because it ran out of memory." }),
  })
  .meta({ id: "LastExit", description: "How a run of an app ended." });

/** An app as its device reports it. */
export const appReportSchema = z
  .object({
    name: sanitizedLine(64).meta({ description: "Name of the app.", examples: ["node-red"] }),
    image: sanitizedLine(512).meta({ description: "Image reference, as in `spec`." }),
    image_digest: sanitizedLine(256)
      .nullable()
      .meta({ description: "Digest of the image in its registry; null for an image that came from none." }),
    state: appRunStateSchema.meta({
      description: "Current state. `missing`: its container is gone, and the agent is repairing it.",
    }),
    desired_state: z.enum(["running", "stopped"]).meta({ description: "The state that was last requested." }),
    since: unixSeconds("When it entered this state; null when the device did not know the time.").nullable(),
    restarts: count.nullable().meta({ description: "Restarts by the engine; null when the container is missing." }),
    last_exit: lastExit.exactOptional().meta({
      description:
        "How the run before ended, where the app is to run and does not, or was restarted less than a minute ago. Absent where that " +
        "is not known, and where its agent is too old to report it.",
    }),
    // Not validated here.
    spec: anyObject.meta({
      description:
        "The current specification, with the fields of a deployment's request; environment values are masked.",
    }),
    last_deployment: lastDeployment
      .nullable()
      .meta({ description: "The latest deployment of the app; null if the device does not know it any more." }),
    paused: sanitizedLine(256)
      .exactOptional()
      .meta({
        description:
          "Why the agent does not bring the app back at present, although it is to run: its attempts crashed the agent, and it " +
          "tries again after a pause. Absent otherwise, and where its agent is too old to report it.",
        examples: ["the agent crashed 3 times during the repair of node-red"],
      }),
    fleet: appFleetSchema.exactOptional().meta({
      description:
        "The fleet's revision that the app was last applied with. Absent for an app of no fleet, where the device has lost " +
        "its store since, and where its agent is too old to report it.",
    }),
    changed: appChangeSchema.exactOptional().meta({
      description:
        "How the app differs from what it was deployed or applied as. Absent if it does not, and where its agent is too old to " +
        "report it.",
    }),
  })
  .meta({ id: "AppReport" });
export type AppReport = z.output<typeof appReportSchema>;

/** Maximum number of troubles of an engine in a report. */
export const MAX_ENGINE_TROUBLES = 10;

/** Properties of a device that rarely change; sent with the report that follows a change. */
export const deviceFactsSchema = z
  .object({
    agent_version: sanitizedLine(64).meta({ description: "Version of edge-agent." }),
    engine: z
      .object({
        kind: sanitizedLine(32).meta({ description: "Name of the engine.", examples: ["docker"] }),
        version: sanitizedLine(64).meta({ description: "Version of the engine." }),
      })
      .nullable()
      .meta({ description: "The container engine; null while it does not answer." }),
    architecture: sanitizedLine(32)
      .nullable()
      .meta({ description: "Architecture of the processor.", examples: ["arm64"] }),
    os: sanitizedLine(128).nullable().meta({ description: "Name and version of the operating system." }),
    kernel: sanitizedLine(128).nullable().meta({ description: "Version of the kernel." }),
    hostname: sanitizedLine(256).nullable().meta({ description: "Host name of the device." }),
    model: sanitizedLine(128).nullable().meta({ description: "Hardware model, where the hardware reports it." }),
    cpus: count.nullable().meta({ description: "Number of processors." }),
    memory_total_bytes: count.nullable().meta({ description: "Memory of the device, in bytes." }),
    disk_total_bytes: count.nullable().meta({ description: "Of the file system on which the engine keeps images." }),
    disk_low: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether less of that file system is free than `low_disk_percent` of the agent's configuration says. Absent where " +
          "it cannot be read, or the agent on the device is too old to report it.",
      }),
    engine_troubles: z
      .array(sanitizedLine(256))
      .max(MAX_ENGINE_TROUBLES)
      .exactOptional()
      .meta({
        description:
          "What is wrong with the container engine, each as a sentence: firewall rules it has lost, containers it cannot " +
          "remove. Absent if nothing is known to be wrong, and where the agent on the device is too old to report it.",
      }),
    state_writable: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether the agent can write its state; if not, its disk is read-only or fails, and nothing can be deployed. Absent " +
          "where the agent on the device is too old to report it.",
      }),
    clock_wrong: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether the device's time of day differs from the service's by more than a minute: certificates may look invalid then, and " +
          "times of logs are not right. Absent if not, as far as the agent knows.",
      }),
    data_budget_low: z.boolean().exactOptional().meta({
      description: "Whether its data budget of the month is spent, or will be before the month ends. Absent if not.",
    }),
    time_zone: sanitizedLine(64)
      .nullable()
      .exactOptional()
      .meta({
        description:
          "The device's time zone; null where it is not known. Absent where the agent on the device is too old to report it.",
        examples: ["Europe/Berlin"],
      }),
    clock_synced: z
      .boolean()
      .nullable()
      .exactOptional()
      .meta({
        description:
          "Whether the kernel says that the clock is synchronised; null where it cannot be read. Absent where the agent on the " +
          "device is too old to report it.",
      }),
  })
  .meta({ id: "DeviceFacts", description: "Properties of a device that rarely change." });
export type DeviceFacts = z.output<typeof deviceFactsSchema>;

/** Hash of a complete report, computed by the device; opaque to the control plane. */
export const reportHashSchema = z.string().min(1).max(64);

/** Maximum number of apps in one report. */
export const MAX_REPORTED_APPS = 500;

/** Maximum number of removals in one report. */
export const MAX_REPORTED_REMOVALS = 20;

/** The removal of an app by a command of its own: not by the end of what a fleet or a group has of it. */
const appRemovalSchema = z.object({
  name: sanitizedLine(64),
  /** `local`: a command on the device; `api`: a request. */
  by: z.enum(["local", "api"]),
  /** Absent where the device did not know the time. */
  since: unixSeconds("When it was removed.").exactOptional(),
});
export type AppRemoval = z.output<typeof appRemovalSchema>;

/** The changes since the report with the hash `base`; a complete report where `base` is null. */
export const reportDeltaSchema = z.object({
  base: reportHashSchema.nullable(),
  /** Hash of the complete report after these changes. */
  hash: reportHashSchema,
  /** New and changed apps, each complete. */
  apps: z.array(appReportSchema).max(MAX_REPORTED_APPS),
  removed_apps: z.array(sanitizedLine(64)).max(MAX_REPORTED_APPS),
  device: deviceFactsSchema.exactOptional(),
  /** All that are known, the newest first, if they differ from those of the base. */
  removals: z.array(appRemovalSchema).max(MAX_REPORTED_REMOVALS).exactOptional(),
});
export type ReportDelta = z.output<typeof reportDeltaSchema>;
