/*
 * Without schemas, for the console.
 */

/** A number of assets, or a share of them such as `10%`. */
export type Share = number | string;

/** Returns a share of `total` as a number: percentages are rounded up, so that a share of something is never nothing. */
export function countOf(of: Share, total: number): number {
  return typeof of === "number" ? of : Math.ceil((Number(of.slice(0, -1)) * total) / 100);
}
