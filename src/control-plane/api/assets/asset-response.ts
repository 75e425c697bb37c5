import type { FastifyReply } from "fastify";
import type { AssetBody } from "../../../protocol/asset.ts";
import type { Asset } from "../../core/asset.ts";
import { toAssetDetails } from "../../core/asset-view.ts";
import type { Legacy } from "../legacy/legacy.ts";
import { assetPath } from "./asset-path.ts";

/** The asset in full, with the deprecated mirrors, and the headers that say so, as long as they are served. */
export function toAssetResponse(asset: Asset, legacy: Legacy, reply: FastifyReply): AssetBody {
  const isLegacyServed = legacy.isServed();
  if (isLegacyServed && asset.supersim) legacy.addDeprecationHeaders(reply, assetPath(asset.uuid));
  return toAssetDetails(asset, isLegacyServed);
}
