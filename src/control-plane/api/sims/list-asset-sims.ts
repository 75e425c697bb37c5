import { unixNow } from "../../../lib/clock.ts";
import { type AssetSims, assetSimsSchema } from "../../../protocol/assets/sim-list.ts";
import type { SimType } from "../../../protocol/assets/sim.ts";
import { simTypes } from "../../core/asset.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { toSimBody } from "./sim-body.ts";

/** `GET /v1/assets/{asset_id}/sims`: the SIMs of one asset. */
export function listAssetSims(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/sims",
    {
      schema: {
        operationId: "listAssetSims",
        summary: "Get SIMs of Asset",
        description: "The SIMs of the asset, with what their operators said of them last. No operator is asked for it.",
        tags: ["Assets"],
        params: assetParams,
        response: { 200: json("The SIMs.", assetSimsSchema), ...errors("AssetNotFound") },
      },
    },
    async (request): Promise<AssetSims> => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const find = (type: SimType) => store.sims.findSim(asset.accountId, asset.uuid, type);
      const entries = await Promise.all(simTypes(asset).map(find));
      // One that is missing was removed meanwhile.
      const now = unixNow(clock);
      return { sims: entries.flatMap((entry) => (entry ? [toSimBody(entry, now)] : [])) };
    },
  );
}
