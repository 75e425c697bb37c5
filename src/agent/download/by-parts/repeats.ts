import { MAX_INDEX_SHARE } from "../../../lib/layer-parts/decide.ts";
import type { Span } from "../../../lib/layer-parts/ranges.ts";

/** One wrong part is fetched again however small the layer is. Parts of an index are not larger; files in zstd:chunked may be. */
const MAX_FIRST_BYTES = 2_200_000;

export interface RepeatsOptions {
  readonly layerSize: number;
  /** Bytes that the description of the layer took, if they are of no use for the whole layer. */
  readonly spentBytes: number;
  /** There is nothing else that could be fetched. */
  readonly mustSucceed: boolean;
}

/**
 * Which wrong parts of a layer are fetched again: each once, and all together within the share of the layer that may be lost
 * when it is fetched whole after all.
 */
export class Repeats {
  readonly #mustSucceed: boolean;
  readonly #places = new Set<number>();
  #bytesLeft: number;

  constructor({ layerSize, spentBytes, mustSucceed }: RepeatsOptions) {
    this.#bytesLeft = layerSize * MAX_INDEX_SHARE - spentBytes;
    this.#mustSucceed = mustSucceed;
  }

  /** Returns whether a part is fetched again, and counts it. */
  take({ offset, length }: Span): boolean {
    if (this.#places.has(offset)) return false;
    const isFirst = this.#places.size === 0 && length <= MAX_FIRST_BYTES;
    if (!this.#mustSucceed && !isFirst && length > this.#bytesLeft) return false;
    this.#places.add(offset);
    this.#bytesLeft -= length;
    return true;
  }
}
