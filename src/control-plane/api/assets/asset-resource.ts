import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AssetBody } from "../../../protocol/asset.ts";
import { EdgeError } from "../../../protocol/errors.ts";
import type { Asset } from "../../core/asset.ts";
import { toAssetDetails } from "../../core/asset-view.ts";
import type { Store } from "../../store/store.ts";
import { accountOf } from "../auth.ts";
import type { Legacy } from "../legacy/legacy.ts";

/** Path parameter of every endpoint under one asset. */
export const assetParams = z.object({
  asset_id: z.string().meta({ description: "Serial number, SIM SID, ICCID or UUID of the asset." }),
});

/** Path of one asset in the API, with the identifier given. */
export function assetPath(identifier: string): string {
  return `/v1/assets/${encodeURIComponent(identifier)}`;
}

/** Finds the asset by any of its identifiers. Error: `AssetNotFound`, also for another account's asset. */
export async function findAsset(store: Store, request: FastifyRequest, identifier: string): Promise<Asset> {
  const asset = await store.assets.findAsset(accountOf(request), identifier);
  if (!asset) throw new EdgeError("AssetNotFound");
  return asset;
}

/** Converts an asset to its response body. While legacy fields are served, adds them and their deprecation headers. */
export function toAssetResponse(asset: Asset, legacy: Legacy, reply: FastifyReply): AssetBody {
  const isLegacyServed = legacy.isServed();
  if (isLegacyServed && asset.supersim) legacy.addDeprecationHeaders(reply, assetPath(asset.uuid));
  return toAssetDetails(asset, isLegacyServed);
}
