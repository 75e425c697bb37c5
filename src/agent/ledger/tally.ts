import type { Ledger, Traffic, TrafficPurpose } from "./ledger.ts";

/** Bytes in both directions. */
export interface Bytes {
  readonly sent: number;
  readonly received: number;
}

/** One line of a tally: what was counted for one purpose, app and deployment. */
export interface Counted extends Bytes {
  readonly purpose: TrafficPurpose;
  /** Empty where it was for none. */
  readonly app: string;
  readonly deployment: string;
}

type Line = { -readonly [K in keyof Counted]: Counted[K] };

/** Counts in memory. */
export class Tally implements Ledger {
  readonly #lines = new Map<string, Line>();

  count({ purpose, direction, bytes, app = "", deployment = "" }: Traffic): void {
    const key = `${purpose} ${app} ${deployment}`;
    const line = this.#lines.get(key) ?? { purpose, app, deployment, sent: 0, received: 0 };
    line[direction] += bytes;
    this.#lines.set(key, line);
  }

  /** What was counted since the last call. */
  take(): Counted[] {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    return lines;
  }
}
