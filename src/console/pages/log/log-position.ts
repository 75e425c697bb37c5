import type { AppLogEntry } from "../../api/types.ts";

/**
 * Where a log has been read to, so that it can be taken up again after the stream was cut: the service is asked for
 * everything since that second, and what has been shown is left out. Lines are told apart by their time, which the engine
 * gives to the nanosecond.
 */
export class LogPosition {
  #last: string | undefined;
  /** How many lines of exactly this time have been shown. */
  #shownAtLast = 0;
  #toSkip = 0;
  #isResuming = false;

  /** Seconds to ask for; `undefined` before the first line. */
  get since(): number | undefined {
    const ms = this.#last === undefined ? Number.NaN : Date.parse(this.#last);
    return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
  }

  /** Must be called before the entries of a stream that was taken up again. */
  resume(): void {
    this.#isResuming = this.#last !== undefined;
    this.#toSkip = this.#shownAtLast;
  }

  /** Returns whether the entry is new, and moves on. */
  advance(entry: AppLogEntry): boolean {
    if (!("timestamp" in entry)) return true;
    const order = this.#last === undefined ? 1 : compareTimes(entry.timestamp, this.#last);
    if (this.#isResuming) {
      if (order < 0) return false;
      if (order === 0 && this.#toSkip > 0) {
        this.#toSkip -= 1;
        return false;
      }
      if (order > 0) this.#isResuming = false;
    }
    if (order === 0) this.#shownAtLast += 1;
    if (order > 0) {
      this.#last = entry.timestamp;
      this.#shownAtLast = 1;
    }
    return true;
  }
}

/** Compares two times of RFC 3339 beyond the milliseconds that `Date` knows. Both are UTC, as engines give them. */
function compareTimes(a: string, b: string): number {
  const [secondsA, fractionA] = split(a);
  const [secondsB, fractionB] = split(b);
  if (secondsA !== secondsB) return secondsA < secondsB ? -1 : 1;
  return fractionA === fractionB ? 0 : fractionA < fractionB ? -1 : 1;
}

function split(time: string): readonly [string, string] {
  const [, seconds = time, fraction = ""] = /^([^.Z]*)(?:\.(\d*))?Z?$/.exec(time) ?? [];
  return [seconds, fraction.padEnd(9, "0")];
}
