import { buffer } from "node:stream/consumers";
import { MAX_BUFFERED_BYTES } from "../../../lib/layer-parts/verified-bytes.ts";
import { ImageReader } from "../../contents/image-reader.ts";
import { Spool } from "../../contents/spool.ts";
import type { HeldContents, HeldPart } from "./held-contents.ts";

/** Reads contents in the order of a layer, each as often as the layer has it. */
export class OpenContents implements AsyncDisposable {
  readonly #held: HeldContents;
  readonly #open: (imageId: string) => AsyncIterable<Uint8Array>;
  readonly #onLost: (imageId: string, error: unknown) => void;
  readonly #spool: Spool;
  readonly #readers = new Map<string, ImageReader>();
  /** How often a content is still needed, by its key. */
  readonly #usesLeft: number[];

  /** @param onLost called when an image turns out not to have what it should have; its contents are forgotten then */
  constructor(
    held: HeldContents,
    open: (imageId: string) => AsyncIterable<Uint8Array>,
    directory: string,
    onLost: (imageId: string, error: unknown) => void,
  ) {
    this.#held = held;
    this.#open = open;
    this.#onLost = onLost;
    this.#spool = new Spool(directory);
    this.#usesLeft = [...held.uses];
  }

  /**
   * Reads a content of at most `MAX_BUFFERED_BYTES`, without waiting if it is at hand. It is good until the next call.
   * Returns `undefined` if the device does not have it. Rejects with the engine's or the system's error.
   */
  readWhole({ digest }: HeldPart): Uint8Array | Promise<Uint8Array> | undefined {
    const key = this.#held.keyOf(digest);
    if (key === undefined) return undefined;
    const imageId = this.#held.imageOf(key);
    const reader = this.#reader(imageId);
    try {
      const kept = this.#spool.now(key);
      const whole = kept ?? (this.#spool.has(key) ? undefined : reader.wholeNow(key));
      if (!whole) return this.#readWhole(key, imageId);
      // What is in memory is forgotten at once.
      void this.#use(key, reader);
      return whole;
    } catch (error) {
      this.#onLost(imageId, error);
      return undefined;
    }
  }

  /** Reads a content in pieces; `undefined` if the device does not have it. */
  read({ digest, size }: HeldPart): AsyncIterable<Uint8Array> | undefined {
    const key = this.#held.keyOf(digest);
    return key === undefined ? undefined : this.#read(key, size);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const reader of this.#readers.values()) await reader[Symbol.asyncDispose]().catch(() => {});
    await this.#spool[Symbol.asyncDispose]();
  }

  async #readWhole(key: number, imageId: string): Promise<Uint8Array> {
    const reader = this.#reader(imageId);
    const whole = (await this.#reading(imageId, reader.whole(key))) ?? (await buffer(this.#spool.read(key)));
    await this.#use(key, reader);
    return whole;
  }

  async *#read(key: number, size: number): AsyncGenerator<Uint8Array> {
    const imageId = this.#held.imageOf(key);
    await this.#reading(imageId, this.#reader(imageId).readTo(key));
    try {
      yield* this.#spool.read(key);
    } finally {
      // Large ones are read twice: once to check, once to use.
      if (size <= MAX_BUFFERED_BYTES) await this.#use(key, this.#reader(imageId));
    }
  }

  /** Resolves as `reading` does. An error means that the image is lost. */
  async #reading<T>(imageId: string, reading: Promise<T>): Promise<T> {
    try {
      return await reading;
    } catch (error) {
      this.#onLost(imageId, error);
      throw error;
    }
  }

  /** Counts a use, and forgets the content if it is not needed again, or comes again. */
  #use(key: number, reader: ImageReader): Promise<void> | undefined {
    const left = (this.#usesLeft[key] as number) - 1;
    this.#usesLeft[key] = left;
    return left <= 0 || reader.comesAgain(key) ? this.#spool.forget(key) : undefined;
  }

  #reader(imageId: string): ImageReader {
    const reader = this.#readers.get(imageId) ?? this.#newReader(imageId);
    this.#readers.set(imageId, reader);
    return reader;
  }

  #newReader(imageId: string): ImageReader {
    return new ImageReader({
      open: () => this.#open(imageId),
      wanted: this.#held.wantedOf(imageId),
      usesLeft: (key) => this.#usesLeft[key] ?? 0,
      spool: this.#spool,
    });
  }
}
