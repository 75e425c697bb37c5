/** The name of the lock of an asset: one of a bounded number for all. Assets that share one wait for each other, which does no harm. */
export function assetLockOf(uuid: string): string {
  return `asset:${uuid.slice(0, 3)}`;
}
