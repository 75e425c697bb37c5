import type { LayerLayout, PlacedBytes } from "../../../lib/layer-parts/layer-layout.ts";
import type { ImageContents } from "../../contents/device-contents.ts";
import { OpenContents } from "./open-contents.ts";

export type HeldPart = Pick<PlacedBytes, "digest" | "size">;

/**
 * What a layer can take from the images on the device. A content has a key; what is known of it is in columns, since a layer
 * has ten thousands of them.
 */
export class HeldContents {
  readonly #images: readonly ImageContents[];
  readonly #keys = new Map<string, number>();
  /** Index of the image that provides the content. */
  readonly #imageOf: number[] = [];
  /** The files of the image that have it: the first, and how many. */
  readonly #first: number[] = [];
  readonly #files: number[] = [];
  /** How often the layer has it. */
  readonly #uses: number[] = [];

  /** @param images the first one with a content provides it */
  constructor(layout: LayerLayout, images: readonly ImageContents[]) {
    this.#images = images;
    for (const content of layout.contents()) {
      if (this.#add(content.digest) || content.parts.length === 1) continue;
      for (const part of content.parts) if (part.compression !== "zeros") this.#add(part.digest);
    }
  }

  has({ digest }: HeldPart): boolean {
    return this.#keys.has(digest);
  }

  /** Returns the key of a content; `undefined` if the device does not have it, or has lost it. */
  keyOf(digest: string): number | undefined {
    return this.#keys.get(digest);
  }

  /** Returns the id of the image that provides a content. */
  imageOf(key: number): string {
    return this.#images[this.#imageOf[key] as number]?.imageId ?? "";
  }

  /** How often the layer has each content, by its key. */
  get uses(): readonly number[] {
    return this.#uses;
  }

  /** Ids of the images that provide contents. */
  get imageIds(): ReadonlySet<string> {
    return new Set([...this.#keys.values()].map((key) => this.imageOf(key)));
  }

  /** Returns the keys of the contents that an image provides, by the numbers of its files; -1 for other files. */
  wantedOf(imageId: string): Int32Array {
    const index = this.#images.findIndex((image) => image.imageId === imageId);
    const contents = this.#images[index]?.contents;
    const wanted = new Int32Array(contents?.length ?? 0).fill(-1);
    for (const key of this.#keys.values()) {
      if (this.#imageOf[key] !== index || !contents) continue;
      const first = this.#first[key] as number;
      for (let file = 0; file < (this.#files[key] as number); file++) wanted[contents.numberAt(first + file)] = key;
    }
    return wanted;
  }

  /** Forgets an image that cannot be read. */
  forget(imageId: string): void {
    for (const [digest, key] of this.#keys) if (this.imageOf(key) === imageId) this.#keys.delete(digest);
  }

  /**
   * Opens the contents for one passage through the layer.
   *
   * @param open opens the files of an image
   * @param onLost called when an image turns out not to have what it should have
   */
  open(
    open: (imageId: string) => AsyncIterable<Uint8Array>,
    directory: string,
    onLost: (imageId: string, error: unknown) => void,
  ): OpenContents {
    return new OpenContents(this, open, directory, (imageId, error) => {
      this.forget(imageId);
      onLost(imageId, error);
    });
  }

  #add(digest: string): boolean {
    const known = this.#keys.get(digest);
    if (known !== undefined) {
      this.#uses[known] = (this.#uses[known] as number) + 1;
      return true;
    }
    for (const [image, { contents }] of this.#images.entries()) {
      const found = contents.find(digest);
      if (!found) continue;
      this.#keys.set(digest, this.#uses.length);
      this.#imageOf.push(image);
      this.#first.push(found.first);
      this.#files.push(found.count);
      this.#uses.push(1);
      return true;
    }
    return false;
  }
}
