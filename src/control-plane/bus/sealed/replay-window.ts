/** How far messages of one sender may overtake each other. */
export const REPLAY_WINDOW = 1_024;
const WORD_BITS = 32;

/** Knows which of the last messages of one sender have arrived, by their numbers. */
export class ReplayWindow {
  /** The highest number that has arrived. */
  #highest = -1;
  /** A bit for each of the last numbers, at the number modulo the window. */
  readonly #arrived = new Uint32Array(REPLAY_WINDOW / WORD_BITS);

  /** Whether the message with this number may be a new one. One that the window has left behind counts as repeated. */
  isNew(number: number): boolean {
    if (number > this.#highest) return true;
    return number > this.#highest - REPLAY_WINDOW && !this.#has(number);
  }

  /** Records that the message has arrived. */
  add(number: number): void {
    // Numbers that were skipped have not arrived, whatever had their bits before.
    for (let skipped = Math.max(this.#highest + 1, number - REPLAY_WINDOW + 1); skipped < number; skipped++)
      this.#set(skipped, false);
    this.#highest = Math.max(this.#highest, number);
    this.#set(number, true);
  }

  #has(number: number): boolean {
    const bit = number % REPLAY_WINDOW;
    return (((this.#arrived[Math.floor(bit / WORD_BITS)] ?? 0) >>> (bit % WORD_BITS)) & 1) === 1;
  }

  #set(number: number, hasArrived: boolean): void {
    const bit = number % REPLAY_WINDOW;
    const word = Math.floor(bit / WORD_BITS);
    const mask = 1 << (bit % WORD_BITS);
    const before = this.#arrived[word] ?? 0;
    this.#arrived[word] = hasArrived ? before | mask : before & ~mask;
  }
}
