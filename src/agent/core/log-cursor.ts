import { nanoseconds } from "./log-time.ts";

/**
 * How far a log was read, so that reading can go on in another stream without losing a line or showing one twice. An
 * engine answers everything that is not older than a time; lines of that very time are told apart by their number.
 */
export class LogCursor {
  #last: bigint | undefined;
  #seenAtLast = 0;
  /** Of the stream that is being read: lines of the time where the one before ended. */
  #skipped = 0;

  /** Where to begin the next stream, in nanoseconds since the Unix epoch; `undefined` before any line was read. */
  get since(): bigint | undefined {
    return this.#last;
  }

  /** A stream begins that may repeat what was read. */
  resume(): void {
    this.#skipped = 0;
  }

  /** Takes the next line of the stream; answers whether it is new. */
  take(timestamp: string): boolean {
    const at = nanoseconds(timestamp);
    // A line without a time cannot be told from one that was read: rather twice than never.
    if (at === undefined || this.#last === undefined || at > this.#last) {
      if (at !== undefined) this.#move(at);
      return true;
    }
    if (at < this.#last || this.#skipped++ < this.#seenAtLast) return false;
    this.#seenAtLast++;
    return true;
  }

  #move(at: bigint): void {
    this.#last = at;
    this.#seenAtLast = 1;
    this.#skipped = 1;
  }
}
