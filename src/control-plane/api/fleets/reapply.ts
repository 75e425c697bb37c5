import {
  reapplyQuerySchema,
  reapplyRequestSchema,
  reapplyResponseSchema,
  type ReapplyResponse,
} from "../../../protocol/fleets/fleet.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { findFleet, fleetParams, requesterOf } from "./fleet-resource.ts";
import { sinceOf, toDifferences } from "./members.ts";

/** `POST /v1/fleets/{fleet}/reapply`: puts members right that do not run the stable revision. */
export function reapplyFleet(api: Api, { store, fleets }: ApiContext<"fleets">): void {
  api.post(
    "/v1/fleets/:fleet/reapply",
    {
      schema: {
        operationId: "reapplyFleet",
        summary: "Reapply Fleet",
        description:
          "Brings the stable revision again to members that are `drifted` or `missing`, or in the states that the body names. Happens " +
          "outside of rollouts, with the fleet's windows and bounds, and never while an asset is held.",
        tags: ["Fleets"],
        params: fleetParams,
        querystring: reapplyQuerySchema,
        body: reapplyRequestSchema,
        response: {
          200: json("The members that are put right.", reapplyResponseSchema),
          ...errorsWithBody("FleetNotFound", "RevisionNotFound"),
        },
      },
    },
    async (request): Promise<ReapplyResponse> => {
      const fleet = await findFleet(store, request);
      const input = { ...request.body, dryRun: request.query.dry_run ?? false };
      const { assets, members } = await fleets.reapply(fleet, input, requesterOf(request));
      return {
        assets,
        members: members.map(({ assetUuid, assetName, serialNumber, judgement }) => ({
          asset_id: assetUuid,
          asset_name: assetName,
          serial_number: serialNumber,
          state: judgement?.state ?? "waiting",
          since: sinceOf(judgement),
          message: judgement?.message ?? null,
          differences: toDifferences(judgement),
        })),
      };
    },
  );
}
