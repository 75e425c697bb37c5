import { MAX_PART_BYTES, WINDOW_PARTS } from "./part-sender.ts";

type Part = {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly isBodyEnd: boolean;
  readonly isChannelEnd: boolean;
};

/** A body, and whether it is the last one. */
interface Body {
  readonly body: Uint8Array;
  readonly isChannelEnd: boolean;
}

/** Puts parts in order and joins them to bodies. Keeps no more than a window of them. */
export class PartReceiver {
  readonly #parts = new Map<number, Part>();
  /** Parts whose body was taken by the reader, and how many of those the sender was told of. */
  #taken = 0;
  #reported = 0;
  /** Parts of the body that the reader has now. */
  #delivered = 0;
  /** Parts that the sender has sent, as far as is known. */
  #announced = 0;
  #hasEndPart = false;

  /** The number of the first part that has not arrived although a later one was sent. */
  get missing(): number | undefined {
    for (let number = this.#taken + this.#delivered; number < this.#announced; number++)
      if (!this.#parts.has(number)) return number;
    return undefined;
  }

  /** Whether all that the sender ever sends is here. */
  get isComplete(): boolean {
    return this.#hasEndPart && this.missing === undefined;
  }

  add(part: Part): "new" | "repeated" | "bad" {
    const { number, bytes } = part;
    if (number < this.#taken + this.#delivered || this.#parts.has(number)) return "repeated";
    if (number >= this.#taken + WINDOW_PARTS || bytes.length > MAX_PART_BYTES) return "bad";
    this.#parts.set(number, part);
    this.#announced = Math.max(this.#announced, number + 1);
    this.#hasEndPart ||= part.isBodyEnd && part.isChannelEnd;
    return "new";
  }

  /** The sender has sent this many parts. Returns false if that cannot be. */
  announce(sent: number): boolean {
    if (sent > this.#taken + WINDOW_PARTS) return false;
    this.#announced = Math.max(this.#announced, sent);
    return true;
  }

  /** Returns the next body if it is complete. `take` must be called before the next one. */
  next(): Body | undefined {
    const parts: Part[] = [];
    for (let number = this.#taken; ; number++) {
      const part = this.#parts.get(number);
      if (!part) return undefined;
      parts.push(part);
      if (part.isBodyEnd) break;
    }
    for (const { number } of parts) this.#parts.delete(number);
    this.#delivered = parts.length;
    return { body: join(parts.map(({ bytes }) => bytes)), isChannelEnd: parts.some((part) => part.isChannelEnd) };
  }

  /** The reader has taken the body. Returns whether the sender should be told now. */
  take(): boolean {
    this.#taken += this.#delivered;
    this.#delivered = 0;
    // The first one opens the channel. Later each half of the window: the sender always has room for a whole body.
    return this.#reported === 0 || this.#taken - this.#reported >= WINDOW_PARTS / 2;
  }

  /** Returns the number of parts taken, for a message to the sender. */
  reportTaken(): number {
    this.#reported = this.#taken;
    return this.#taken;
  }
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && first) return first;
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
