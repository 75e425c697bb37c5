import type { Clock } from "../../../src/lib/clock.ts";

/** How many requests an operator takes in any stretch of this length. */
export interface RequestLimit {
  /** For what `OperatorServer.requests` has. */
  readonly pattern: RegExp;
  readonly requests: number;
  readonly perMs: number;
}

/** Counts requests as an operator does that publishes its limits. */
export class RequestLimits {
  readonly #limits: readonly (RequestLimit & { readonly takenMs: number[] })[];
  readonly #clock: Pick<Clock, "monotonic">;

  constructor(limits: readonly RequestLimit[], clock: Pick<Clock, "monotonic">) {
    this.#limits = limits.map((limit) => ({ ...limit, takenMs: [] }));
    this.#clock = clock;
  }

  /** Whether the request is within every limit. One that is not counts towards none. */
  take(request: string): boolean {
    const nowMs = this.#clock.monotonic();
    const concerned = this.#limits.filter(({ pattern }) => pattern.test(request));
    for (const { takenMs, perMs } of concerned) {
      while (takenMs[0] !== undefined && takenMs[0] <= nowMs - perMs) takenMs.shift();
    }
    if (concerned.some(({ takenMs, requests }) => takenMs.length >= requests)) return false;
    for (const { takenMs } of concerned) takenMs.push(nowMs);
    return true;
  }
}
