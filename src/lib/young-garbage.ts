/** Bytes of network buffers that may become garbage before it is collected. */
const COLLECT_EVERY_BYTES = 2 * 1024 * 1024;

/**
 * Has the buffers of a socket collected while they are young. Each read takes one outside of V8's heap, which is garbage as soon as
 * its bytes are copied. V8 collects young objects by the size of its own heap, where these buffers hardly
 * count: they get old, and then their sum makes it go through the whole heap, twice in 20 MB, 50 ms of processor time each. A
 * collection of young objects takes less than a millisecond.
 */
export class YoungGarbage {
  readonly #collect: () => void;
  #bytes = 0;

  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** Must be called with the number of bytes that were read. */
  received(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < COLLECT_EVERY_BYTES) return;
    this.#bytes = 0;
    this.#collect();
  }
}
