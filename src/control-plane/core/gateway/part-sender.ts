/** Size of the parts that bodies are cut into: a message of the bus has at most 1 MiB, an answer of a device as well. */
export const MAX_PART_BYTES = 256 * 1024;
/** Parts that an end may have sent and the reader of the other end has not taken. */
export const WINDOW_PARTS = 8;
/** Largest body. All its parts are in one window. */
export const MAX_BODY_BYTES = 5 * MAX_PART_BYTES;
/** Bytes that wait for the window to open. A body is always taken while nothing waits. */
export const MAX_WAITING_BYTES = 1024 * 1024;
/** Parts that wait, since small bodies need memory, too. */
const MAX_WAITING_PARTS = 4096;

export interface OutgoingPart {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly isBodyEnd: boolean;
  readonly isChannelEnd: boolean;
}

/** Cuts bodies into numbered parts, and holds them back until the other end has room for them. */
export class PartSender {
  #waiting: Omit<OutgoingPart, "number">[] = [];
  #first = 0;
  #waitingBytes = 0;
  #sent = 0;
  #confirmed = 0;
  #hasEnded = false;

  /** Number of parts that were sent. */
  get sent(): number {
    return this.#sent;
  }

  /** Whether the last body is here; nothing can follow it. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether the last body is sent. */
  get isFinished(): boolean {
    return this.#hasEnded && this.#first === this.#waiting.length;
  }

  /** Queues a body. Returns false if there is no room for it. */
  push(body: Uint8Array, isEnd: boolean): boolean {
    const isWaiting = this.#first < this.#waiting.length;
    const isOverfull =
      this.#waitingBytes + body.length > MAX_WAITING_BYTES || this.#waiting.length - this.#first >= MAX_WAITING_PARTS;
    if (body.length > MAX_BODY_BYTES || (isWaiting && isOverfull)) return false;
    let from = 0;
    do {
      const bytes = body.subarray(from, from + MAX_PART_BYTES);
      from += MAX_PART_BYTES;
      const isBodyEnd = from >= body.length;
      this.#waiting.push({ bytes, isBodyEnd, isChannelEnd: isEnd });
    } while (from < body.length);
    this.#waitingBytes += body.length;
    this.#hasEnded = isEnd;
    return true;
  }

  /** The other end has taken this many parts. Returns false if that cannot be. */
  confirm(taken: number): boolean {
    if (taken > this.#sent) return false;
    // A late message has a smaller count.
    this.#confirmed = Math.max(this.#confirmed, taken);
    return true;
  }

  /** Returns the next part that may be sent. */
  next(): OutgoingPart | undefined {
    if (this.#sent - this.#confirmed >= WINDOW_PARTS) return undefined;
    const part = this.#waiting[this.#first];
    if (!part) return undefined;
    this.#first++;
    this.#waitingBytes -= part.bytes.length;
    // Given up in large steps, since each costs the time of the whole queue.
    if (this.#first * 2 >= this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    return { number: this.#sent++, ...part };
  }
}
