import { z } from "zod";
import { deploymentStatusSchema, errorCodeSchema } from "./deployment-event.ts";
import { MAX_MESSAGE_LENGTH } from "../limits.ts";

/** Maximum number of deployments in one query. */
export const MAX_QUERIED_DEPLOYMENTS = 50;

const deploymentId = z.string().min(1).max(64);

/** Parameters of a `deployments` query. */
export const deploymentsParamsSchema = z.object({
  deployment_ids: z.array(deploymentId).min(1).max(MAX_QUERIED_DEPLOYMENTS),
});

/** The outcome of one deployment by the device's record. */
export const deploymentOutcomeSchema = z.object({
  deployment_id: deploymentId,
  /**
   * How it ended; `Running` also while its final event is not acknowledged; `null` where the device has no record of
   * it.
   */
  status: deploymentStatusSchema.nullable(),
  /** Message of its final event, where the device still has it. */
  message: z.string().max(MAX_MESSAGE_LENGTH).optional(),
  code: errorCodeSchema.optional().catch("Internal"),
});
export type DeploymentOutcome = z.output<typeof deploymentOutcomeSchema>;

export const deploymentOutcomesSchema = z.object({
  deployments: z.array(deploymentOutcomeSchema).max(MAX_QUERIED_DEPLOYMENTS),
});
