import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AssetBody } from "../../protocol/assets/asset.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Asset } from "../core/asset.ts";
import { unixNow } from "../../lib/clock.ts";
import { toAssetDetails } from "../core/asset-view.ts";
import type { AssetWithState, StateTime } from "../store/assets.ts";
import type { Store } from "../store/store.ts";
import { accountOf } from "./auth.ts";
import { type Resource, stateOf } from "./conditional-requests.ts";
import type { ApiBase } from "./context.ts";
import type { Legacy } from "./legacy-mirrors.ts";
import type { AssetSettingsOutcome } from "../store/asset-settings.ts";

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
export function stateTime({ clock, config }: Pick<ApiBase, "clock" | "config">): StateTime {
  const now = unixNow(clock);
  const serviceNowMs = Math.floor(clock.serviceNow());
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

/** Returns the first part of an asset's entity tag. What a SIM's operator has queued settles by itself. */
export function assetState({ uuid, serialNumber, name, type, supersim, prosim }: Asset): string {
  const sims = [
    supersim && [supersim.iccid, supersim.status, supersim.networkGroup],
    prosim && [prosim.iccid, prosim.status, prosim.serviceProfile],
  ];
  return stateOf(uuid, serialNumber, name, type, sims);
}

/** Reads an asset as its endpoint shows it. Error: `AssetNotFound`. */
export async function readAsset(
  context: ApiBase,
  legacy: Legacy,
  request: FastifyRequest,
  reply: FastifyReply,
  identifier: string,
): Promise<Resource<AssetBody>> {
  const time = stateTime(context);
  const found = await findAssetWithState(context.store, request, identifier, time);
  const tags = await context.store.assetSettings.readTags(found.asset.uuid);
  return { state: assetState(found.asset), body: toAssetResponse(found, time, legacy, reply, tags) };
}

/** Converts an asset to its response body. While legacy fields are served, adds them and their deprecation headers. */
export function toAssetResponse(
  { asset, state }: AssetWithState,
  time: StateTime,
  legacy: Legacy,
  reply: FastifyReply,
  tags?: ReadonlyMap<string, string>,
): AssetBody {
  reply.resourceState = assetState(asset);
  const isLegacyServed = legacy.isServed();
  if (isLegacyServed && asset.supersim) legacy.addDeprecationHeaders(reply, assetPath(asset.uuid));
  return toAssetDetails(asset, state, time, isLegacyServed, tags);
}

/** Throws unless the asset has what was asked for. Errors: `AssetNotFound` if it was removed meanwhile, and `tooMany`. */
export function requireSettingsChange(result: AssetSettingsOutcome, tooMany: () => EdgeError): void {
  if (result === "no_asset") throw new EdgeError("AssetNotFound");
  if (result === "too_many") throw tooMany();
}
