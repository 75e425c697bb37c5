import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AssetBody } from "../../protocol/asset.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { Asset } from "../core/asset.ts";
import { unixNow } from "../../lib/clock.ts";
import { toAssetDetails } from "../core/asset-view.ts";
import type { AssetWithState, StateTime } from "../store/assets.ts";
import type { Store } from "../store/store.ts";
import { accountOf } from "./auth.ts";
import type { ApiContext } from "./context.ts";
import type { Legacy } from "./legacy-mirrors.ts";

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

/** Returns the time at which presence and attention of assets are judged. */
export function stateTime({
  clock,
  serviceClock,
  config,
}: Pick<ApiContext, "clock" | "serviceClock" | "config">): StateTime {
  const now = unixNow(clock);
  const serviceNowMs = Math.floor(serviceClock.serviceNow());
  return { now, notSeenBefore: now - config.attention_after_s, serviceNowMs };
}

/** Finds the asset with its state. Error: `AssetNotFound`. */
export async function findAssetWithState(
  store: Store,
  request: FastifyRequest,
  identifier: string,
  time: StateTime,
): Promise<AssetWithState> {
  const found = await store.assets.findAssetWithState(accountOf(request), identifier, time);
  if (!found) throw new EdgeError("AssetNotFound");
  return found;
}

/** Converts an asset to its response body. While legacy fields are served, adds them and their deprecation headers. */
export function toAssetResponse(
  { asset, state }: AssetWithState,
  time: StateTime,
  legacy: Legacy,
  reply: FastifyReply,
  tags?: ReadonlyMap<string, string>,
): AssetBody {
  const isLegacyServed = legacy.isServed();
  if (isLegacyServed && asset.supersim) legacy.addDeprecationHeaders(reply, assetPath(asset.uuid));
  return toAssetDetails(asset, state, time, isLegacyServed, tags);
}
