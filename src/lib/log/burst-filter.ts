import type { Clock } from "../clock.ts";

/** Equal lines written before the others are only counted. */
const MAX_WRITTEN_LINES = 3;
/** Equal lines within this time are one burst. */
const WINDOW_MS = 10_000;
/** Different lines tracked at a time; further lines are all written. */
const MAX_TRACKED_LINES = 200;

interface Burst {
  readonly timer: Disposable;
  seen: number;
  last: string;
}

/**
 * Summarizes repeated lines. Of lines that differ only in their time, the first few are written at once; the others are
 * written as one line with their number when the burst ends.
 */
export class BurstFilter {
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  readonly #bursts = new Map<string, Burst>();

  constructor(clock: Clock, write: (line: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** Writes or counts one line of JSON. */
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

  /** Ends all bursts and writes their summaries. */
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
  // The line is one JSON object from this program's logger.
  return line.replace(/\}\s*$/, `,"repeated":${repeated}}\n`);
}
