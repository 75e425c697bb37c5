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

/** Counts in memory. */
export class Tally implements Ledger {
  readonly #lines = new Map<string, { line: Omit<Counted, keyof Bytes>; sent: number; received: number }>();

  count({ purpose, direction, bytes, app = "", deployment = "" }: Traffic): void {
    const key = `${purpose} ${app} ${deployment}`;
    const counted = this.#lines.get(key) ?? { line: { purpose, app, deployment }, sent: 0, received: 0 };
    counted[direction] += bytes;
    this.#lines.set(key, counted);
  }

  /** What was counted since the last call. */
  take(): Counted[] {
    const lines = [...this.#lines.values()].map(({ line, sent, received }) => ({ ...line, sent, received }));
    this.#lines.clear();
    return lines;
  }
}
