import { reapplyRequestSchema, reapplyResponseSchema } from "../../../protocol/fleet.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { findFleet, fleetParams, requesterOf } from "./fleet-resource.ts";

/** `POST /v1/fleets/{fleet}/reapply`: puts members right that do not run the stable revision. */
export function reapplyFleet(api: Api, { store, fleets }: ApiContext): void {
  api.post(
    "/v1/fleets/:fleet/reapply",
    {
      schema: {
        operationId: "reapplyFleet",
        summary: "Reapply Fleet",
        description:
          "Brings the stable revision again to members that do not run it, such as those that were changed on the device or by " +
          "hand. Happens outside of rollouts, with the fleet's windows and bounds.",
        tags: ["Fleets"],
        params: fleetParams,
        body: reapplyRequestSchema,
        response: {
          200: json("How many members are put right.", reapplyResponseSchema),
          ...errorsWithBody("FleetNotFound", "RevisionNotFound"),
        },
      },
    },
    async (request) => {
      const fleet = await findFleet(store, request);
      const { asset_ids: ids } = request.body;
      return { assets: await fleets.reapply(fleet, ids && new Set(ids), requesterOf(request)) };
    },
  );
}
