import { superSimUsageSchema, usageQuerySchema } from "../../../protocol/assets/usage.ts";
import { readUsage } from "../../sims/read-usage.ts";
import { toSuperSimUsage } from "../../core/usage-view.ts";
import { assetParams, assetPath, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";

/**
 * `GET /assets/{asset_id}/sim/usages`, also under `/v1`: the deprecated usage of the Super SIM, until the removal
 * time.
 */
export function legacyUsage(api: Api, context: ApiContext<"sims">): void {
  const legacy = createLegacy(context);
  for (const prefix of ["", "/v1"]) {
    api.get(
      `${prefix}/assets/:asset_id/sim/usages`,
      {
        schema: {
          operationId: prefix ? "legacyUsageV1" : "legacyUsage",
          summary: "SIM usage",
          description: "Use SIM usage details instead. After the removal, every request gets `EndpointRemoved`.",
          deprecated: true,
          tags: ["Legacy"],
          params: assetParams,
          querystring: usageQuerySchema,
          response: {
            200: json("Usage of the Super SIM.", superSimUsageSchema, LEGACY_HEADERS),
            ...errors("AssetNotFound", "SimNotFound", "SimOperatorFailed", "EndpointRemoved"),
          },
        },
        preValidation: async (request, reply) => {
          if (!legacy.isServed()) throw legacy.toRemovedError(reply, "GET", successor(request.params.asset_id));
        },
      },
      async (request, reply) => {
        const { asset_id } = request.params;
        const asset = await findAsset(context.store, request, asset_id);
        const usage = await readUsage(context, asset, "supersim", request.query);
        legacy.addDeprecationHeaders(reply, successor(asset_id));
        return toSuperSimUsage(usage);
      },
    );
  }
}

function successor(identifier: string): string {
  return `${assetPath(identifier)}/sims/supersim/usages`;
}
