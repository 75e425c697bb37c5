import { z } from "zod";
import { integerString } from "../../../protocol/values/scalars.ts";
import { isFinished } from "../../core/deployment.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { resumableStream } from "../docs/stream.ts";
import { sendEvents } from "../event-stream.ts";
import { lastEventIdHeaders, NO_MORE_EVENTS, resumedAfter } from "../resume-stream.ts";
import { deploymentParams, findDeployment } from "./deployment-resource.ts";

const MAX_SEQ = Number.MAX_SAFE_INTEGER;

const query = z.strictObject({
  after: integerString(0, MAX_SEQ)
    .default(0)
    .meta({ description: "`seq` of the last event received; 0 for all events." }),
});

/**
 * `GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}/events`: streams the events of a deployment after
 * `after`, past and new ones, until the final event.
 */
export function streamEvents(api: Api, context: ApiContext<"accounts" | "deployments" | "streams">): void {
  const { store, streams } = context;
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
        headers: lastEventIdHeaders(MAX_SEQ),
        response: {
          200: resumableStream("The deployment's events."),
          204: NO_MORE_EVENTS,
          ...errors("AssetNotFound", "DeploymentNotFound"),
        },
      },
    },
    async (request, reply) => {
      const deployment = await findDeployment(store, request);
      const { id, lastSeq } = deployment;
      const after = resumedAfter(request, request.query.after);
      if (isFinished(deployment) && after >= lastSeq) return reply.code(204).send();
      void reply.header("Deployment-Id", id);
      streams.limiter.acquireForAccount(request, reply);
      return sendEvents(context, request, reply, { id, after, hasIds: true });
    },
  );
}
