import { assetListQuerySchema, DEFAULT_PAGE_SIZE } from "../../../protocol/asset-request.ts";
import { type AssetList, assetListSchema } from "../../../protocol/asset.ts";
import { toAssetListItem } from "../../core/asset-view.ts";
import { decodeAssetCursor, encodeAssetCursor } from "../../core/asset-cursor.ts";
import { termsOf } from "../../fleets/plan-rollout.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { stateTime } from "../asset-resource.ts";

/** `GET /v1/assets`: the account's assets, page by page, oldest first. */
export function listAssets(api: Api, context: ApiContext): void {
  const legacy = createLegacy(context);
  api.get(
    "/v1/assets",
    {
      schema: {
        operationId: "listAssets",
        summary: "Get Assets",
        description: "The account's assets in order of registration, oldest first.",
        tags: ["Assets"],
        querystring: assetListQuerySchema,
        response: { 200: json("One page of assets.", assetListSchema, LEGACY_HEADERS), ...errors() },
      },
    },
    async (request, reply): Promise<AssetList> => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, status, type, q: text, attention } = request.query;
      const connected = request.query.connected === undefined ? undefined : request.query.connected === "true";
      const selector = request.query.selector === undefined ? undefined : termsOf({ selector: request.query.selector });
      const accepted = request.query.accepted === undefined ? undefined : request.query.accepted === "true";
      const agentVersion = request.query.agent_version;
      const filter = { status, type, text, connected, accepted, attention, agentVersion, selector };
      const time = stateTime(context);
      const after = cursor === undefined ? undefined : decodeAssetCursor(cursor);
      // One more than the page holds shows whether there is another page.
      const found = await context.store.assets.listAssets(accountOf(request), filter, limit + 1, after, time);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1)?.asset : undefined;
      const tags = await context.store.assetSettings.listTags(page.map(({ asset }) => asset.uuid));
      const isLegacyServed = legacy.isServed();
      if (isLegacyServed && page.some(({ asset }) => asset.supersim)) legacy.addDeprecationHeaders(reply, "/v1/assets");
      return {
        assets: page.map(({ asset, state }) =>
          toAssetListItem(asset, state, time, isLegacyServed, tags.get(asset.uuid)),
        ),
        next_cursor: last ? encodeAssetCursor(last) : null,
      };
    },
  );
}
