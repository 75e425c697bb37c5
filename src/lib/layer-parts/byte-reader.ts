/** Reads a stream of bytes in pieces of a given size. Dispose of it to end the stream early. */
export class ByteReader implements AsyncDisposable {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Resolves to exactly this many bytes, or to `undefined` if the stream ends before. */
  async take(size: number): Promise<Uint8Array | undefined> {
    if (this.#rest.length === 0 && size > 0 && !(await this.#next())) return undefined;
    if (this.#rest.length >= size) return this.#cut(size);
    const taken = Buffer.allocUnsafe(size);
    let filled = 0;
    while (filled < size) {
      if (this.#rest.length === 0 && !(await this.#next())) return undefined;
      const piece = this.#cut(Math.min(size - filled, this.#rest.length));
      taken.set(piece, filled);
      filled += piece.length;
    }
    return taken;
  }

  /** Resolves to what is at hand, at least one byte and at most `max`, or to `undefined` at the end. */
  async takeSome(max: number): Promise<Uint8Array | undefined> {
    if (this.#rest.length === 0 && !(await this.#next())) return undefined;
    return this.#cut(Math.min(max, this.#rest.length));
  }

  /** Resolves to whether the stream had as many bytes. */
  async skip(size: number): Promise<boolean> {
    for (let rest = size; rest > 0;) {
      if (this.#rest.length === 0 && !(await this.#next())) return false;
      rest -= this.#cut(Math.min(rest, this.#rest.length)).length;
    }
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.return?.();
  }

  #cut(size: number): Uint8Array {
    const piece = this.#rest.subarray(0, size);
    this.#rest = this.#rest.subarray(size);
    return piece;
  }

  async #next(): Promise<boolean> {
    do {
      const { done, value } = await this.#source.next();
      if (done === true) return false;
      this.#rest = value;
    } while (this.#rest.length === 0);
    return true;
  }
}
