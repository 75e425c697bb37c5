import { unixNow } from "../../../lib/clock.ts";
import { simEntrySchema, type SimEntryBody } from "../../../protocol/assets/sim-list.ts";
import { simTypeSchema } from "../../../protocol/assets/sim.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { toSimBody } from "./sim-body.ts";

const params = assetParams.extend({ sim_type: simTypeSchema.meta({ description: "Which SIM of the asset." }) });

/** `POST /v1/assets/{asset_id}/sims/{sim_type}/refresh`: asks the operator of the SIM for its state. */
export function refreshSim(api: Api, { store, sims, clock }: ApiContext<"sims">): void {
  api.post(
    "/v1/assets/:asset_id/sims/:sim_type/refresh",
    {
      schema: {
        operationId: "refreshSim",
        summary: "Refresh SIM",
        description:
          "Asks the SIM's operator for its state, stores it, and returns it. The operator is asked at most once a minute for each " +
          "SIM: until then the response is the last answer. Where no operator serves the type, it is what is stored.",
        tags: ["Assets"],
        params,
        response: {
          200: json("The SIM.", simEntrySchema),
          ...errorsWithBody("AssetNotFound", "SimNotFound", "SimOperatorFailed"),
        },
      },
    },
    async (request): Promise<SimEntryBody> => {
      const { accountId, uuid } = await findAsset(store, request, request.params.asset_id);
      return toSimBody(await sims.refresher.refresh(accountId, uuid, request.params.sim_type), unixNow(clock));
    },
  );
}
