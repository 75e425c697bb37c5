const WINDOW_MS = 5_000;

interface Sample {
  readonly atMs: number;
  readonly bytes: number;
}

/** Measures bytes per second over the last seconds, from samples of a running total. */
export class RateMeter {
  #samples: Sample[] = [];

  /** @param atMs monotonic milliseconds */
  add(atMs: number, bytes: number): void {
    const last = this.#samples.at(-1);
    // A lower total belongs to a new attempt.
    if (last && bytes < last.bytes) this.#samples = [];
    this.#samples.push({ atMs, bytes });
    // One sample before the window is kept, so that a slow stream still has a rate.
    while (this.#samples.length > 2 && (this.#samples[1]?.atMs ?? 0) <= atMs - WINDOW_MS) this.#samples.shift();
  }

  /** `undefined` until there are two samples. */
  get bytesPerSecond(): number | undefined {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs <= first.atMs) return undefined;
    return ((last.bytes - first.bytes) * 1000) / (last.atMs - first.atMs);
  }
}
