import { EdgeError } from "../../../protocol/errors/errors.ts";
import { auditEntry } from "../../accounts/audit-entry.ts";
import { originOf } from "../audit/audit-of.ts";
import { isFinished } from "../../core/deployment.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { deploymentParams, deploymentSchema, findDeployment, toDeploymentResponse } from "./deployment-resource.ts";

/**
 * `DELETE /v1/assets/{asset_id}/edge/deployments/{deployment_id}`: cancels a deployment. 202 while the device undoes
 * it, 200 when it is finished. A deployment that was finished before does not change.
 */
export function cancelDeployment(api: Api, { store, deployments, clock }: ApiContext<"deployments">): void {
  api.delete(
    "/v1/assets/:asset_id/edge/deployments/:deployment_id",
    {
      schema: {
        operationId: "cancelDeployment",
        summary: "Cancel Deployment",
        description: "The device undoes the deployment, which ends in `Fail` with `DeploymentCancelled`.",
        tags: ["Deployments"],
        params: deploymentParams,
        response: {
          200: json("The deployment is finished. If it was finished before, it has not changed.", deploymentSchema),
          202: json("The cancellation was requested; the final event follows.", deploymentSchema),
          ...errorsWithBody("AssetNotFound", "DeploymentNotFound"),
        },
      },
    },
    async (request, reply) => {
      const deployment = await findDeployment(store, request);
      const origin = originOf(request);
      const { after, hasChanged } = await deployments.cancel(deployment, origin);
      if (!after) throw new EdgeError("DeploymentNotFound");
      if (!hasChanged) {
        const { id, app, assetUuid } = after;
        const facts = { action: "deployment.cancelled", assetUuid, app, subject: { kind: "deployment", id } } as const;
        const details = { had_ended: isFinished(after) };
        await store.audit.addEntry(auditEntry(origin, clock, { ...facts, details }));
      }
      return reply.code(isFinished(after) ? 200 : 202).send(toDeploymentResponse(after));
    },
  );
}
