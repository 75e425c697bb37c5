import { z } from "zod";
import { integerString } from "../../../protocol/scalars.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { eventStream } from "../docs/stream.ts";
import { sendEvents } from "../event-stream.ts";
import { deploymentParams, findDeployment } from "./deployment-resource.ts";

const query = z.strictObject({
  after: integerString(0, Number.MAX_SAFE_INTEGER)
    .default(0)
    .meta({ description: "`seq` of the last event received; 0 for all events." }),
});

/**
 * `GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}/events`: streams the events of a deployment after
 * `after`, past and new ones, until the final event.
 */
export function streamEvents(api: Api, context: ApiContext): void {
  const { store, streamLimiter } = context;
  api.get(
    "/v1/assets/:asset_id/edge/deployments/:deployment_id/events",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "streamDeploymentEvents",
        summary: "Deployment Events",
        description: "Past and new events, until the final one. Resumes an interrupted stream.",
        tags: ["Deployments"],
        params: deploymentParams,
        querystring: query,
        response: {
          200: eventStream("The deployment's events."),
          ...errors("AssetNotFound", "DeploymentNotFound"),
        },
      },
    },
    async (request, reply) => {
      const { id } = await findDeployment(store, request);
      streamLimiter.acquireForAccount(request, reply);
      void reply.header("Deployment-Id", id);
      return sendEvents(context, request, reply, { id, after: request.query.after });
    },
  );
}
