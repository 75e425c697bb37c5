import type { FastifyReply } from "fastify";
import type { AssetBody } from "../../../protocol/asset.ts";
import type { Asset } from "../../core/asset.ts";
import { toDetails } from "../../core/asset-view.ts";
import type { Legacy } from "../legacy/legacy.ts";
import { assetPath } from "./asset-path.ts";

/** The asset in full, with the deprecated mirrors, and the headers that say so, as long as they are served. */
export function showAsset(asset: Asset, legacy: Legacy, reply: FastifyReply): AssetBody {
  const isLegacyServed = legacy.isServed();
  if (isLegacyServed && asset.supersim) legacy.mark(reply, assetPath(asset.uuid));
  return toDetails(asset, isLegacyServed);
}
