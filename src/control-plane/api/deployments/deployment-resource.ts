import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { deploymentActionSchema } from "../../../protocol/deployments/deployment-action.ts";
import { deploymentStatusSchema } from "../../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { unixSeconds } from "../../../protocol/values/scalars.ts";
import { imageOf } from "../../core/command.ts";
import { codeOf, type Deployment, finishedAtMsOf, statusOf } from "../../core/deployment.ts";
import type { Store } from "../../store/store.ts";
import { assetParams, assetPath, findAsset } from "../asset-resource.ts";

export const deploymentParams = assetParams.extend({
  deployment_id: z.string().meta({ description: "Id from the header `Deployment-Id` or any event of the deployment." }),
});

/** Path of a deployment in the API. */
export function deploymentPath(assetUuid: string, id: string): string {
  return `${assetPath(assetUuid)}/edge/deployments/${id}`;
}

/** The record of a deployment in a response. */
export const deploymentSchema = z
  .object({
    deployment_id: z.string().meta({ description: "Id of the deployment." }),
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    app: z.string().meta({ description: "Name of the app, or the project of an apply." }),
    action: deploymentActionSchema.meta({ description: "What the deployment does to the app." }),
    image: z.string().optional().meta({ description: "Image of a deployment, or of an update that changes it." }),
    dry_run: z
      .literal(true)
      .optional()
      .meta({ description: "The deployment only checks the request and changes nothing." }),
    max_download_bytes: z.int().optional().meta({ description: "Maximum bytes the device may download, if set." }),
    urgent: z
      .literal(true)
      .optional()
      .meta({ description: "Downloads also outside the device's download hours and data budgets." }),
    status: deploymentStatusSchema.meta({ description: "`Running`, or how it ended." }),
    message: z.string().meta({ description: "Message of the last event." }),
    code: z.string().optional().meta({ description: "With `Fail`: the error code." }),
    created_at: unixSeconds("When it was requested."),
    finished_at: unixSeconds("When it ended; absent while it is running.").optional(),
    cancel_requested_at: unixSeconds("When its cancellation was requested.").optional(),
    last_seq: z.int().meta({ description: "`seq` of the last event." }),
  })
  .meta({ id: "Deployment" });

const nextCursor = z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." });

/** The deployments of an asset. */
export const deploymentListSchema = z
  .object({
    deployments: z.array(deploymentSchema).meta({ description: "The deployments of this page, newest first." }),
    next_cursor: nextCursor,
  })
  .meta({ id: "DeploymentList" });

/** The deployments of an account. */
export const accountDeploymentListSchema = z
  .object({
    deployments: z.array(deploymentSchema).meta({ description: "The deployments of this page." }),
    next_cursor: nextCursor,
  })
  .meta({ id: "AccountDeploymentList" });

/** Finds the deployment that the path names. Errors: `AssetNotFound`, `DeploymentNotFound`. */
export async function findDeployment(
  store: Store,
  request: FastifyRequest<{ Params: { asset_id: string; deployment_id: string } }>,
): Promise<Deployment> {
  const { asset_id, deployment_id } = request.params;
  const asset = await findAsset(store, request, asset_id);
  const deployment = await store.deployments.findDeployment(deployment_id);
  if (deployment?.assetUuid !== asset.uuid || deployment.accountId !== asset.accountId) {
    throw new EdgeError("DeploymentNotFound");
  }
  return deployment;
}

export function toDeploymentResponse(deployment: Deployment): z.output<typeof deploymentSchema> {
  const { id, assetUuid, app, command, options, createdAtMs, cancelRequestedAtMs } = deployment;
  const code = codeOf(deployment);
  const finishedAtMs = finishedAtMsOf(deployment);
  const image = imageOf(command);
  return {
    deployment_id: id,
    asset_id: assetUuid,
    app,
    action: command.action,
    ...(image !== undefined && { image }),
    ...(options.dry_run && { dry_run: true }),
    ...(options.max_download_bytes !== undefined && { max_download_bytes: options.max_download_bytes }),
    ...(options.urgent && { urgent: true }),
    status: statusOf(deployment),
    message: deployment.lastEvent?.message ?? "",
    ...(code && { code }),
    created_at: toSeconds(createdAtMs),
    ...(finishedAtMs !== undefined && { finished_at: toSeconds(finishedAtMs) }),
    ...(cancelRequestedAtMs !== undefined && { cancel_requested_at: toSeconds(cancelRequestedAtMs) }),
    last_seq: deployment.lastSeq,
  };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
