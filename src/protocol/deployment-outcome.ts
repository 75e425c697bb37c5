import { z } from "zod";
import { deploymentStatusSchema, errorCodeSchema } from "./deployment-event.ts";
import { MAX_MESSAGE_LENGTH } from "./limits.ts";

/** Most deployments one question names. */
export const MAX_QUERIED_DEPLOYMENTS = 50;

const deploymentId = z.string().min(1).max(64);

/** The deployments the control plane asks about. */
export const deploymentsParamsSchema = z.object({
  deployment_ids: z.array(deploymentId).min(1).max(MAX_QUERIED_DEPLOYMENTS),
});

/** What a device has on record of one deployment. */
export const deploymentOutcomeSchema = z.object({
  deployment_id: deploymentId,
  /**
   * How it ended; `Running` while the device holds it, its end not acknowledged included; `null` where the device has
   * nothing on record of it.
   */
  status: deploymentStatusSchema.nullable(),
  /** What its final event said, where that is still known. */
  message: z.string().max(MAX_MESSAGE_LENGTH).optional(),
  code: errorCodeSchema.optional().catch("Internal"),
});
export type DeploymentOutcome = z.output<typeof deploymentOutcomeSchema>;

export const deploymentOutcomesSchema = z.object({
  deployments: z.array(deploymentOutcomeSchema).max(MAX_QUERIED_DEPLOYMENTS),
});
