import { z } from "zod";
import { appSpecSchema } from "../../protocol/app-spec.ts";
import { deploymentStepSchema } from "../../protocol/deployment-event.ts";
import { isErrorCode } from "../../protocol/errors.ts";
import type { AppRecord, DeploymentRecord } from "../core/deployment.ts";

/*
 * What is read back from disk is checked like any input: the file may be of another version, or damaged.
 */

const failureSchema = z.object({
  code: z.custom(isErrorCode).catch("Internal"),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).exactOptional(),
  step: deploymentStepSchema,
});

export const deploymentRecordSchema: z.ZodType<DeploymentRecord> = z.object({
  id: z.string(),
  order: z.int(),
  origin: z.enum(["control_plane", "local"]).default("control_plane"),
  app: z.string(),
  spec: appSpecSchema.optional().transform((spec) => spec),
  outcome: z.enum(["pending", "succeeded", "failed"]),
  checked: z.boolean(),
  imageId: z
    .string()
    .optional()
    .transform((id) => id),
  failure: failureSchema.optional().transform((failure) => failure),
}) as z.ZodType<DeploymentRecord>;

export const appRecordSchema: z.ZodType<AppRecord> = z.object({
  name: z.string(),
  deploymentId: z.string(),
  spec: appSpecSchema,
  imageId: z.string(),
  containerId: z.string(),
});
