import type { Clock } from "../clock.ts";

/** How many lines alike are written before the others are only counted. */
const MAX_WRITTEN_LINES = 3;
/** How long lines alike count as one burst, in milliseconds. */
const WINDOW_MS = 10_000;
/** How many different lines are told apart at a time; beyond that they are all written. */
const MAX_TRACKED_LINES = 200;

interface Burst {
  readonly timer: Disposable;
  seen: number;
  last: string;
}

/**
 * Sums up bursts: of lines that differ in nothing but the time, the first few are written as they come, and the others,
 * when the burst is over, as one that says how many there were. Nothing is left out without being counted.
 */
export class BurstFilter {
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  readonly #bursts = new Map<string, Burst>();

  constructor(clock: Clock, write: (line: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** Takes one line of JSON. */
  push(line: string): void {
    const kind = line.replace(/"time":"[^"]*",?/, "");
    const burst = this.#bursts.get(kind);
    if (burst) {
      burst.seen++;
      burst.last = line;
      if (burst.seen <= MAX_WRITTEN_LINES) this.#write(line);
      return;
    }
    if (this.#bursts.size < MAX_TRACKED_LINES) {
      const timer = this.#clock.timer(WINDOW_MS, () => this.#endBurst(kind));
      this.#bursts.set(kind, { timer, seen: 1, last: line });
    }
    this.#write(line);
  }

  /** Writes what was held back so far. */
  flush(): void {
    for (const [kind, { timer }] of this.#bursts) {
      timer[Symbol.dispose]();
      this.#endBurst(kind);
    }
  }

  #endBurst(kind: string): void {
    const burst = this.#bursts.get(kind);
    this.#bursts.delete(kind);
    if (!burst || burst.seen <= MAX_WRITTEN_LINES) return;
    this.#write(withCount(burst.last, burst.seen - MAX_WRITTEN_LINES));
  }
}

function withCount(line: string, repeated: number): string {
  // The line is one JSON object, written by this program.
  return line.replace(/\}\s*$/, `,"repeated":${repeated}}\n`);
}
