import { buffer } from "node:stream/consumers";
import { ImageReader } from "../../contents/image-reader.ts";
import { chooseReadAhead } from "../../contents/read-ahead.ts";
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
  readonly #usesLeft: Uint32Array;
  /** Keys of contents that were read before the others. */
  readonly #ahead = new Set<number>();

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
    this.#usesLeft = held.countUses();
  }

  /**
   * Reads a content that fits into memory, without waiting if it is at hand. It is good until the next call.
   * Returns `undefined` if the device does not have it. Rejects with the engine's or the system's error.
   */
  readWhole({ digest }: HeldPart): Uint8Array | Promise<Uint8Array> | undefined {
    const key = this.#held.keyOf(digest);
    if (key === undefined) return undefined;
    const imageId = this.#held.imageOf(key);
    const reader = this.#readers.get(imageId);
    if (!reader) return this.#readWhole(key, imageId);
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

  /**
   * Reads a content in pieces; `undefined` if the device does not have it.
   *
   * @param isReadOnce for this use; otherwise it is kept until the end
   */
  read({ digest }: HeldPart, isReadOnce: boolean): AsyncIterable<Uint8Array> | undefined {
    const key = this.#held.keyOf(digest);
    return key === undefined ? undefined : this.#read(key, isReadOnce);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Closing what was only read loses nothing.
    for (const reader of this.#readers.values()) await reader[Symbol.asyncDispose]().catch(() => {});
    await this.#spool[Symbol.asyncDispose]();
  }

  async #readWhole(key: number, imageId: string): Promise<Uint8Array> {
    const reader = await this.#reading(imageId, this.#reader(imageId));
    const whole = (await this.#reading(imageId, reader.whole(key))) ?? (await buffer(this.#spool.read(key)));
    await this.#use(key, reader);
    return whole;
  }

  async *#read(key: number, isReadOnce: boolean): AsyncGenerator<Uint8Array> {
    const imageId = this.#held.imageOf(key);
    const reader = await this.#reading(imageId, this.#reader(imageId));
    const coming = isReadOnce ? await this.#reading(imageId, reader.pieces(key)) : undefined;
    if (!coming) await this.#reading(imageId, reader.readTo(key));
    try {
      yield* coming ?? this.#spool.read(key);
    } catch (error) {
      if (coming) this.#onLost(imageId, error);
      throw error;
    } finally {
      if (isReadOnce) await this.#use(key, reader);
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

  /** Counts a use, and forgets the content if it is not needed again, or comes again and was not read ahead. */
  #use(key: number, reader: ImageReader): Promise<void> | undefined {
    const left = Math.max(0, (this.#usesLeft[key] as number) - 1);
    this.#usesLeft[key] = left;
    const mayGo = left === 0 || (reader.comesAgain(key) && !this.#ahead.has(key));
    return mayGo ? this.#spool.forget(key) : undefined;
  }

  /** Opens an image when it is needed for the first time. */
  async #reader(imageId: string): Promise<ImageReader> {
    const known = this.#readers.get(imageId);
    if (known) return known;
    const reading = this.#held.readingOf(imageId);
    const ahead = new Set(chooseReadAhead(reading));
    for (const key of ahead) this.#ahead.add(key);
    if (ahead.size > 0) {
      const files = reading.files.map((key) => (ahead.has(key) ? key : -1));
      await using reader = this.#newReader(imageId, files);
      for (const key of ahead) await reader.readTo(key);
    }
    const reader = this.#newReader(imageId, reading.files);
    this.#readers.set(imageId, reader);
    return reader;
  }

  #newReader(imageId: string, wanted: Int32Array): ImageReader {
    const usesLeft = (key: number): number => this.#usesLeft[key] ?? 0;
    return new ImageReader({ open: () => this.#open(imageId), wanted, usesLeft, spool: this.#spool });
  }
}
