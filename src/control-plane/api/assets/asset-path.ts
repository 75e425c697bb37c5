/** Path of one asset in the API, by the identifier given. */
export function assetPath(identifier: string): string {
  return `/v1/assets/${encodeURIComponent(identifier)}`;
}
