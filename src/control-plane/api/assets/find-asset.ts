import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../../protocol/errors.ts";
import type { Asset } from "../../core/asset.ts";
import type { Store } from "../../store/store.ts";
import { accountOf } from "../auth.ts";

/** The asset a path names, by any of its identifiers. Error: `AssetNotFound`, also for another account's asset. */
export async function findAsset(store: Store, request: FastifyRequest, identifier: string): Promise<Asset> {
  const asset = await store.assets.findAsset(accountOf(request), identifier);
  if (!asset) throw new EdgeError("AssetNotFound");
  return asset;
}
