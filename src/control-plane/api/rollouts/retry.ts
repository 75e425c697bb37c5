import { z } from "zod";
import { type RetryPlanBody, retryPlanSchema, rolloutSchema } from "../../../protocol/fleets/rollout.ts";
import { booleanString } from "../../../protocol/values/scalars.ts";
import type { RetryPlan } from "../../fleets/retry-rollout.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { requesterOf, requireAgentUpdatesOf } from "../fleets/fleet-resource.ts";
import { findRollout, rolloutParams, toRolloutBody } from "./rollout-resource.ts";

const query = z.strictObject({
  dry_run: booleanString()
    .default(false)
    .meta({ description: "Makes none: returns how many assets it would take, or why there is nothing to retry." }),
});

/** `POST /v1/fleets/{fleet}/rollouts/{rollout_id}/retry`: makes a rollout that takes only the assets that failed. */
export function retryRollout(api: Api, { store, fleets }: ApiContext<"fleets">): void {
  api.post(
    "/v1/fleets/:fleet/rollouts/:rollout_id/retry",
    {
      schema: {
        operationId: "retryRollout",
        summary: "Retry Rollout",
        description:
          "Makes a rollout of the same revision, without waves, for the assets on which this one, when it is over, has failed, " +
          "was refused or went back, unless they run the revision by now or have left the fleet. The revision becomes the stable one only if all other assets have it. " +
          "Repeated while such a rollout is under way, it returns that one. A device that has set a release " +
          "of the agent aside tries it once more.",
        tags: ["Rollouts"],
        params: rolloutParams,
        querystring: query,
        response: {
          200: json("With `dry_run`: what it would take.", retryPlanSchema),
          201: json("The rollout that retries.", rolloutSchema),
          ...errorsWithBody("FleetNotFound", "RolloutNotFound", "RevisionNotFound", "RolloutStateConflict"),
        },
      },
    },
    async (request, reply) => {
      const { fleet, rollout } = await findRollout(store, request);
      await requireAgentUpdatesOf(request, store, fleet, rollout.revision);
      if (request.query.dry_run) return reply.send(toRetryPlanBody(await fleets.planRetry(fleet, rollout)));
      const retry = await fleets.retryRollout(fleet, rollout, requesterOf(request));
      return reply.code(201).send(await toRolloutBody(store, { fleet, rollout: retry }));
    },
  );
}

function toRetryPlanBody({ revision, assets, current, left, superseded, underWay }: RetryPlan): RetryPlanBody {
  const shown = superseded && { id: superseded.id, revision: superseded.revision, state: superseded.state };
  return { revision, assets: assets.length, current, left, superseded: shown ?? null, under_way: underWay?.id ?? null };
}
