import { legacySimUpdateSchema } from "../../../protocol/assets/asset-request.ts";
import { legacySimSchema } from "../../../protocol/assets/asset.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { toLegacySim } from "../../core/asset-view.ts";
import { parseLegacySimUpdate, planLegacyUpdate } from "../../core/asset-update.ts";
import { assetParams, assetPath } from "../asset-resource.ts";
import { originOf } from "../audit/audit-of.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";

/**
 * `PATCH /assets/{asset_id}/sim`, also under `/v1`: the deprecated Update SIM. It updates the Super SIM and
 * returns its mirror `sim`, until the removal time.
 */
export function legacyUpdateSim(api: Api, context: ApiContext<"assets">): void {
  const legacy = createLegacy(context);
  for (const prefix of ["", "/v1"]) {
    api.patch(
      `${prefix}/assets/:asset_id/sim`,
      {
        schema: {
          operationId: prefix ? "legacyUpdateSimV1" : "legacyUpdateSim",
          summary: "Update SIM",
          description: "Use Update Asset instead. After the removal, every request gets `EndpointRemoved`.",
          deprecated: true,
          tags: ["Legacy"],
          params: assetParams,
          body: legacySimUpdateSchema,
          response: {
            200: json("The updated Super SIM.", legacySimSchema, LEGACY_HEADERS),
            ...errorsWithBody(
              "AssetNotFound",
              "SimNotFound",
              "UnknownNetworkGroup",
              "SimOperatorFailed",
              "EndpointRemoved",
            ),
          },
        },
        // Before the body is read: after the removal it does not matter.
        preParsing: async (request, reply) => {
          if (!legacy.isServed()) throw legacy.toRemovedError(reply, "PATCH", assetPath(request.params.asset_id));
        },
        preValidation: async (request) => void parseLegacySimUpdate(request.body),
      },
      async (request, reply) => {
        const { asset_id } = request.params;
        const { supersim } = await context.assets.updater.update(originOf(request), asset_id, (asset, ownGroups) =>
          planLegacyUpdate(asset, request.body, ownGroups),
        );
        if (!supersim) throw new EdgeError("SimNotFound");
        legacy.addDeprecationHeaders(reply, assetPath(asset_id));
        return toLegacySim(supersim);
      },
    );
  }
}
