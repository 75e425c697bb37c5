import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { deploymentParams, deploymentSchema, findDeployment, toDeploymentResponse } from "./deployment-resource.ts";

/** `GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}`: the record of one deployment. */
export function getDeployment(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/edge/deployments/:deployment_id",
    {
      schema: {
        operationId: "getDeployment",
        summary: "Deployment Details",
        description: "What was requested, by whom, and how it ended, with its last event.",
        tags: ["Deployments"],
        params: deploymentParams,
        response: {
          200: json("The record of the deployment.", deploymentSchema),
          ...errors("AssetNotFound", "DeploymentNotFound"),
        },
      },
    },
    async (request) => toDeploymentResponse(await findDeployment(store, request)),
  );
}
