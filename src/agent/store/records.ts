import { z } from "zod";
import { agentUpdateSchema } from "../../protocol/agents/agent-update.ts";
import { appChangeSchema } from "../../protocol/apps/app-change.ts";
import { appSpecSchema } from "../../protocol/apps/app-spec.ts";
import { deployOptionsSchema } from "../../protocol/apps/deploy-request.ts";
import { deploymentActionSchema } from "../../protocol/deployments/deployment-action.ts";
import { deploymentStepSchema } from "../../protocol/deployments/deployment-event.ts";
import { isErrorCode } from "../../protocol/errors/errors.ts";
import type { AppRecord, DeploymentRecord } from "../core/records.ts";
import { anyObject } from "../../protocol/values/scalars.ts";

/*
 * Records read from disk are validated like any input: the file may be from another version, or damaged.
 */

const failureSchema = z.object({
  code: z.custom(isErrorCode).catch("Internal"),
  message: z.string(),
  details: anyObject.exactOptional(),
  step: deploymentStepSchema,
});

const optional = <T>(schema: z.ZodType<T>) => schema.optional().transform((value) => value);

const fleetMarkSchema = z.object({
  name: z.string(),
  revision: z.int(),
  deploymentId: z.string(),
  isChanged: z.boolean(),
});

export const appRecordSchema: z.ZodType<AppRecord> = z.object({
  name: z.string(),
  deploymentId: z.string(),
  spec: appSpecSchema,
  imageId: z.string(),
  digest: z.string().exactOptional(),
  containerId: z.string(),
  desired: z.enum(["running", "stopped"]).default("running"),
  changedBy: z.string().exactOptional(),
  previousImageId: optional(z.string()),
  isAdopted: z.literal(true).exactOptional(),
  changed: appChangeSchema.exactOptional(),
  fleet: fleetMarkSchema.exactOptional(),
}) as z.ZodType<AppRecord>;

export const deploymentRecordSchema: z.ZodType<DeploymentRecord> = z
  .object({
    id: z.string(),
    action: deploymentActionSchema.default("deploy"),
    order: z.int(),
    origin: z.enum(["control_plane", "local"]).default("control_plane"),
    app: z.string(),
    spec: optional(appSpecSchema),
    previous: optional(appRecordSchema),
    options: deployOptionsSchema.default({}),
    outcome: z.enum(["pending", "succeeded", "failed"]),
    checked: z.boolean(),
    digest: optional(z.string()),
    fetches: z
      .array(z.object({ sha256: z.string(), size: z.int(), upload: z.object({ sha256: z.string(), bytes: z.int() }) }))
      .exactOptional(),
    imageId: optional(z.string()),
    containerId: optional(z.string()),
    touched: z.boolean().default(false),
    committed: z.boolean().optional(),
    failure: optional(failureSchema),
    rollbackFailure: optional(failureSchema),
    madeDirectories: z.array(z.string()).exactOptional(),
    apply: z
      .object({
        onFailure: z.enum(["rollback", "keep"]),
        expect: z.string().exactOptional(),
        fleet: z.object({ name: z.string(), revision: z.int() }).exactOptional(),
      })
      .exactOptional(),
    agentUpdate: agentUpdateSchema
      .extend({
        handedOver: z.object({ request: z.string(), version: z.string(), attempt: z.int().min(0) }).exactOptional(),
        isStoreLost: z.literal(true).exactOptional(),
      })
      .exactOptional(),
    group: z
      .object({
        id: z.string(),
        dependsOn: z.array(z.object({ app: z.string(), condition: z.enum(["started", "healthy", "completed"]) })),
        mustComplete: z.literal(true).exactOptional(),
      })
      .exactOptional(),
    result: z.enum(["installed", "updated", "unchanged", "removed", "stopped", "started", "restarted"]).exactOptional(),
    madeVolumes: z.array(z.string()).exactOptional(),
    leftBehind: z.array(z.object({ id: z.string(), name: z.string() })).exactOptional(),
  })
  .transform((record) => ({
    ...record,
    // Earlier releases had no such field: their succeeded deployments were committed.
    committed: record.committed ?? record.outcome === "succeeded",
  })) as z.ZodType<DeploymentRecord>;
