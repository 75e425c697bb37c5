import type { LayerChain } from "../engine.ts";

/** An image as the engine lists it. */
export interface ListedImage {
  readonly id: string;
  readonly repoDigests: readonly string[];
}

/**
 * The layers of the images on the machine. They are read once for each image, whose id stands for them, and kept in memory: the
 * price of a download takes one request then, however many images there are.
 */
export class LayerChains {
  #known: ReadonlyMap<string, readonly string[]> = new Map();

  /** @param read returns the diff ids of an image; `undefined` if it does not exist */
  async of(
    images: readonly ListedImage[],
    read: (id: string) => Promise<readonly string[] | undefined>,
  ): Promise<readonly LayerChain[]> {
    const chains = new Map<string, LayerChain>();
    for (const { id: imageId, repoDigests } of images) {
      const diffIds = chains.get(imageId)?.diffIds ?? this.#known.get(imageId) ?? (await read(imageId));
      if (!diffIds) continue;
      const isFromRegistry = repoDigests.length > 0 || (chains.get(imageId)?.isFromRegistry ?? false);
      chains.set(imageId, { imageId, diffIds, isFromRegistry });
    }
    // An image without layers may be one that the engine does not have completely yet.
    const complete = [...chains.values()].filter(({ diffIds }) => diffIds.length > 0);
    this.#known = new Map(complete.map(({ imageId, diffIds }) => [imageId, diffIds]));
    return [...chains.values()];
  }
}
