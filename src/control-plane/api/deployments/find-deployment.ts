import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../../protocol/errors.ts";
import type { Deployment } from "../../core/deployment.ts";
import type { Store } from "../../store/store.ts";
import { findAsset } from "../assets/find-asset.ts";

/** The deployment a path names. Errors: `AssetNotFound`, `DeploymentNotFound`. */
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
