import type { z } from "zod";
import { type AssetOrder, assetListQuerySchema } from "../../../protocol/assets/asset-request.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { type AssetList, assetListSchema } from "../../../protocol/assets/asset.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { toAssetListItem } from "../../core/asset-view.ts";
import { decodeAssetCursor, encodeAssetCursor } from "../../core/cursor.ts";
import { MAX_SCANNED_ASSETS } from "../../store/assets.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { stateTime } from "../asset-resource.ts";

/** `GET /v1/assets`: the account's assets, page by page, oldest first. */
export function listAssets(api: Api, context: ApiBase): void {
  const legacy = createLegacy(context);
  api.get(
    "/v1/assets",
    {
      schema: {
        operationId: "listAssets",
        summary: "Get Assets",
        description:
          "The account's assets, by default in order of registration, oldest first. To follow changes, ask with `updated_since`, go " +
          "on with `next_cursor` until it is null, and begin again from a minute before the latest `updated_at`. Removed assets are " +
          `not listed any more: their event is \`asset.removed\`. A page of a filtered list looks at ${MAX_SCANNED_ASSETS} assets at most.`,
        tags: ["Assets"],
        querystring: assetListQuerySchema,
        response: { 200: json("One page of assets.", assetListSchema, LEGACY_HEADERS), ...errors() },
      },
    },
    async (request, reply): Promise<AssetList> => {
      const {
        limit = DEFAULT_PAGE_SIZE,
        cursor,
        status,
        type,
        q: text,
        attention,
        connected,
        accepted,
      } = request.query;
      const selector = request.query.selector === undefined ? undefined : termsOfSelector(request.query.selector);
      const agentVersion = request.query.agent_version;
      const updatedSince = request.query.updated_since;
      const filter = { status, type, text, connected, accepted, attention, agentVersion, selector, updatedSince };
      const time = stateTime(context);
      const order = orderOf(request.query);
      const after = cursor === undefined ? undefined : decodeAssetCursor(order, cursor);
      const { assets: page, next } = await context.store.assets.listAssets(
        accountOf(request),
        { ...filter, order },
        limit,
        after,
        time,
      );
      const tags = await context.store.assetSettings.listTags(page.map(({ asset }) => asset.uuid));
      const isLegacyServed = legacy.isServed();
      if (isLegacyServed && page.some(({ asset }) => asset.supersim)) legacy.addDeprecationHeaders(reply, "/v1/assets");
      return {
        assets: page.map(({ asset, state }) =>
          toAssetListItem(asset, state, time, isLegacyServed, tags.get(asset.uuid)),
        ),
        next_cursor: next ? encodeAssetCursor(order, next) : null,
      };
    },
  );
}

/** Error: `InvalidRequest` where an order by registration is to be limited by updates, which would look at every asset. */
function orderOf({ sort, updated_since: since }: z.output<typeof assetListQuerySchema>): AssetOrder {
  if (since === undefined) return sort ?? "created_at";
  if (sort === "created_at" || sort === "-created_at")
    throw invalidRequest([{ path: "sort", reason: "must be updated_at or -updated_at with updated_since" }]);
  return sort ?? "updated_at";
}
