/** Small pieces are joined up to this size. */
const JOINED_BYTES = 4 * 1024;

/**
 * A piece of data that waits. Small pieces that follow each other share one: each by itself would take many times its size
 * in memory, and a peer chooses the size of its messages.
 */
export class Block {
  readonly #memory: Uint8Array;
  #start = 0;
  #end: number;

  private constructor(memory: Uint8Array, length: number) {
    this.#memory = memory;
    this.#end = length;
  }

  /** Uses the memory of `bytes`. */
  static of(bytes: Uint8Array): Block {
    return new Block(bytes, bytes.length);
  }

  /** Copies `bytes`, whose memory may be part of something larger, and leaves room for more. */
  static copyOf(bytes: Uint8Array): Block {
    const memory = new Uint8Array(Math.max(bytes.length, JOINED_BYTES));
    memory.set(bytes);
    return new Block(memory, bytes.length);
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** Adds `bytes` if there is room for them. Returns whether there was. */
  append(bytes: Uint8Array): boolean {
    if (this.#end + bytes.length > this.#memory.length) return false;
    this.#memory.set(bytes, this.#end);
    this.#end += bytes.length;
    return true;
  }

  /** Takes at most `maxBytes` from the front. They share the block's memory. */
  take(maxBytes: number = Infinity): Uint8Array {
    const end = Math.min(this.#end, this.#start + maxBytes);
    const taken = this.#memory.subarray(this.#start, end);
    this.#start = end;
    return taken;
  }
}
