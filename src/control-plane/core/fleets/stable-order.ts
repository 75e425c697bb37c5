/*
 * An order of assets that looks random, differs from rollout to rollout, and is the same each time it is computed. It only
 * spreads the risk of being in the first wave, so a hash without cryptographic strength is enough.
 */

const FNV_OFFSET_BASIS = 0x81_1c_9d_c5;
const FNV_PRIME = 0x01_00_01_93;

/** Returns the assets in the order of a rollout. Adding or removing some does not change the order of the others. */
export function inStableOrder<T extends { readonly assetUuid: string }>(
  rolloutId: string,
  assets: readonly T[],
): readonly T[] {
  return assets
    .map((asset) => ({ asset, hash: hash32(`${rolloutId}/${asset.assetUuid}`) }))
    .toSorted((a, b) => a.hash - b.hash || compare(a.asset.assetUuid, b.asset.assetUuid))
    .map(({ asset }) => asset);
}

/** FNV-1a of the UTF-16 code units, mixed by the last steps of MurmurHash3, since FNV alone leaves similar texts close. */
function hash32(text: string): number {
  let hash = FNV_OFFSET_BASIS;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
