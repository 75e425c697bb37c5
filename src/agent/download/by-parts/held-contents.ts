import type { LayerLayout, PlacedBytes } from "../../../lib/layer-parts/layer-layout.ts";
import type { ImageContents } from "../../contents/device-contents.ts";
import { MAX_BUFFERED_BYTES } from "../../../lib/layer-parts/verified-bytes.ts";
import { ImageReader } from "../../contents/image-reader.ts";
import { Spool } from "../../contents/spool.ts";

type Part = Pick<PlacedBytes, "digest" | "size">;

interface Use {
  readonly imageId: string;
  /** Numbers of the files in the image. */
  readonly numbers: readonly number[];
  /** How often the layer has it. */
  count: number;
}

/** What a layer can take from the images on the device. */
export class HeldContents {
  readonly #uses = new Map<string, Use>();

  /** @param images the first one with a content provides it */
  constructor(layout: LayerLayout, images: readonly ImageContents[]) {
    for (const content of layout.contents()) {
      if (this.#add(content.digest, images) || content.parts.length === 1) continue;
      for (const part of content.parts) if (part.compression !== "zeros") this.#add(part.digest, images);
    }
  }

  has({ digest }: Part): boolean {
    return this.#uses.has(digest);
  }

  /** Ids of the images that provide contents. */
  get imageIds(): ReadonlySet<string> {
    return new Set([...this.#uses.values()].map(({ imageId }) => imageId));
  }

  /** Forgets an image that cannot be read. */
  forget(imageId: string): void {
    for (const [digest, use] of this.#uses) if (use.imageId === imageId) this.#uses.delete(digest);
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
    return new OpenContents(this.#uses, open, directory, (imageId, error) => {
      this.forget(imageId);
      onLost(imageId, error);
    });
  }

  #add(digest: string, images: readonly ImageContents[]): boolean {
    const known = this.#uses.get(digest);
    if (known) {
      known.count++;
      return true;
    }
    for (const { imageId, contents } of images) {
      const numbers = contents.find(digest);
      if (numbers.length === 0) continue;
      this.#uses.set(digest, { imageId, numbers, count: 1 });
      return true;
    }
    return false;
  }
}

/** Reads contents in the order of a layer. */
class OpenContents implements AsyncDisposable {
  readonly #uses: ReadonlyMap<string, Use>;
  readonly #open: (imageId: string) => AsyncIterable<Uint8Array>;
  readonly #onLost: (imageId: string, error: unknown) => void;
  readonly #spool: Spool;
  readonly #readers = new Map<string, ImageReader>();
  readonly #used = new Map<string, number>();

  constructor(
    uses: ReadonlyMap<string, Use>,
    open: (imageId: string) => AsyncIterable<Uint8Array>,
    directory: string,
    onLost: (imageId: string, error: unknown) => void,
  ) {
    this.#uses = uses;
    this.#open = open;
    this.#onLost = onLost;
    this.#spool = new Spool(directory);
  }

  /** Reads a content; `undefined` if the device does not have it. */
  read({ digest, size }: Part): AsyncIterable<Uint8Array> | undefined {
    const use = this.#uses.get(digest);
    return use && this.#read(digest, size, use);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const reader of this.#readers.values()) await reader[Symbol.asyncDispose]().catch(() => {});
    await this.#spool[Symbol.asyncDispose]();
  }

  async *#read(digest: string, size: number, { imageId, count }: Use): AsyncGenerator<Uint8Array> {
    try {
      if (!this.#spool.has(digest)) await this.#reader(imageId).readTo(digest);
    } catch (error) {
      this.#onLost(imageId, error);
      throw error;
    }
    try {
      yield* this.#spool.read(digest);
    } finally {
      this.#used.set(digest, (this.#used.get(digest) ?? 0) + 1);
      // Large ones are read twice: once to check, once to use.
      const mayGo = !this.#isNeeded(digest, count) || this.#reader(imageId).comesAgain(digest);
      if (mayGo && size <= MAX_BUFFERED_BYTES) await this.#spool.remove(digest);
    }
  }

  #isNeeded(digest: string, count: number): boolean {
    return (this.#used.get(digest) ?? 0) < count;
  }

  #reader(imageId: string): ImageReader {
    const reader = this.#readers.get(imageId) ?? this.#newReader(imageId);
    this.#readers.set(imageId, reader);
    return reader;
  }

  #newReader(imageId: string): ImageReader {
    const wanted = new Map<number, string>();
    for (const [digest, use] of this.#uses) {
      if (use.imageId === imageId) for (const number of use.numbers) wanted.set(number, digest);
    }
    const isNeeded = (digest: string): boolean => this.#isNeeded(digest, this.#uses.get(digest)?.count ?? 0);
    return new ImageReader({ open: () => this.#open(imageId), wanted, isNeeded, spool: this.#spool });
  }
}

export type { OpenContents };
