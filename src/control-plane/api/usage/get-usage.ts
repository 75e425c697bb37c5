import { simTypeSchema } from "../../../protocol/assets/sim.ts";
import { usageQuerySchema, usageSchema } from "../../../protocol/assets/usage.ts";
import { readUsage } from "../../sims/read-usage.ts";
import { toProSimUsage, toSuperSimUsage } from "../../core/usage-view.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

const params = assetParams.extend({ sim_type: simTypeSchema.meta({ description: "Which SIM of the asset." }) });

/** `GET /v1/assets/{asset_id}/sims/{sim_type}/usages`: usage of one SIM, in bytes. */
export function getUsage(api: Api, context: ApiContext<"sims">): void {
  api.get(
    "/v1/assets/:asset_id/sims/:sim_type/usages",
    {
      schema: {
        operationId: "getUsage",
        summary: "SIM usage details",
        description:
          "Bytes, per network group (Super SIM) or service profile (PRO SIM), and per period unless the granularity is " +
          "`all`. A record counts in the period in which it starts. Usage from `finalized_until` on may still change.",
        tags: ["Usage"],
        params,
        querystring: usageQuerySchema,
        response: {
          200: json("Usage of the SIM.", usageSchema),
          ...errors("AssetNotFound", "SimNotFound", "GranularityNotAvailable", "SimOperatorFailed"),
        },
      },
    },
    async (request) => {
      const { asset_id, sim_type } = request.params;
      const asset = await findAsset(context.store, request, asset_id);
      const usage = await readUsage(context, asset, sim_type, request.query);
      return sim_type === "supersim" ? toSuperSimUsage(usage) : toProSimUsage(usage);
    },
  );
}
