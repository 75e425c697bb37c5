const EMPTY = Buffer.alloc(0);

/**
 * Reads a stream of bytes in pieces of a given size. Bytes that it returns are good until its next call: memory is reused.
 * What is at hand is taken without waiting (`…Now`), since a promise for each small piece takes longer than the piece.
 * Dispose of it to end the stream early.
 */
export class ByteReader implements AsyncDisposable {
  readonly #source: AsyncIterator<Uint8Array>;
  /** At hand, in one piece. */
  #rest: Buffer = EMPTY;
  /** What follows `#rest`. */
  #next: Buffer = EMPTY;
  /** Holds what the source gave in several pieces. */
  #joined: Buffer = EMPTY;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns exactly this many bytes, at least 1, or `undefined` if they are not at hand in one piece. */
  takeNow(size: number): Buffer | undefined {
    if (this.#rest.length < size) return undefined;
    const taken = this.#rest.subarray(0, size);
    this.#advance(size);
    return taken;
  }

  /** Returns what is at hand, at most `max` bytes; none if nothing is. */
  takeSomeNow(max: number): Buffer {
    const taken = this.#rest.subarray(0, max);
    this.#advance(taken.length);
    return taken;
  }

  /** Skips what is at hand, at most `max` bytes. Returns how many bytes it skipped. */
  skipNow(max: number): number {
    const size = Math.min(max, this.#rest.length);
    this.#advance(size);
    return size;
  }

  /** Resolves to whether this many bytes, at least 1, are at hand now in one piece: the stream may end before. */
  async more(size: number): Promise<boolean> {
    if (this.#rest.length === 0 && !(await this.#pull())) return false;
    if (this.#rest.length >= size) return true;
    // May be a part of `#joined` itself: it is moved to its beginning.
    const joined = this.#joined.length >= size ? this.#joined : Buffer.allocUnsafeSlow(size);
    let filled = this.#rest.copy(joined);
    this.#joined = joined;
    for (;;) {
      const copied = this.#next.copy(joined, filled, 0, size - filled);
      this.#next = this.#next.subarray(copied);
      filled += copied;
      if (filled === size) break;
      const chunk = await this.#read();
      if (!chunk) break;
      this.#next = chunk;
    }
    this.#rest = joined.subarray(0, filled);
    return filled === size;
  }

  /** Resolves to exactly this many bytes, or to `undefined` if the stream ends before. */
  async take(size: number): Promise<Buffer | undefined> {
    if (size === 0) return EMPTY;
    return (await this.more(size)) ? this.takeNow(size) : undefined;
  }

  /** Resolves to what is at hand, at least one byte and at most `max`, or to `undefined` at the end. */
  async takeSome(max: number): Promise<Buffer | undefined> {
    return (await this.more(1)) ? this.takeSomeNow(max) : undefined;
  }

  /** Resolves to whether the stream had as many bytes. */
  async skip(size: number): Promise<boolean> {
    let left = size - this.skipNow(size);
    while (left > 0 && (await this.more(1))) left -= this.skipNow(left);
    return left === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.();
  }

  #advance(size: number): void {
    this.#rest = this.#rest.subarray(size);
    if (this.#rest.length > 0) return;
    this.#rest = this.#next;
    this.#next = EMPTY;
  }

  /** Resolves to whether there is something at hand. */
  async #pull(): Promise<boolean> {
    this.#rest = (await this.#read()) ?? EMPTY;
    return this.#rest.length > 0;
  }

  /** Resolves to the next piece that is not empty. */
  async #read(): Promise<Buffer | undefined> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done === true) return undefined;
      if (value.length > 0) return Buffer.from(value.buffer, value.byteOffset, value.length);
    }
  }
}
