import type { Span } from "../../lib/layer-parts/ranges.ts";

/** Bytes of a blob, and where in a file they are. */
export interface HeldRange extends Span {
  readonly position: number;
}

/** What a range part has of its blob: disjoint ranges in the order of the blob. */
export class HeldRanges {
  #ranges: HeldRange[] = [];

  /** Adds a range. What is held of it already is replaced. */
  add(range: HeldRange): void {
    this.drop(range);
    this.#ranges.splice(this.#firstEndingAfter(range.offset), 0, range);
  }

  /** Removes these bytes. What is held before and behind them stays. */
  drop(span: Span): void {
    const first = this.#firstEndingAfter(span.offset);
    const end = span.offset + span.length;
    let last = first;
    while ((this.#ranges[last]?.offset ?? Infinity) < end) last++;
    const dropped = this.#ranges.slice(first, last);
    const before = dropped.slice(0, 1).map(({ offset, position }) => {
      return { offset, length: span.offset - offset, position };
    });
    const behind = dropped.slice(-1).map(({ offset, length, position }) => {
      return { offset: end, length: offset + length - end, position: position + end - offset };
    });
    const kept = [...before, ...behind].filter(({ length }) => length > 0);
    this.#ranges.splice(first, last - first, ...kept);
  }

  /** Returns the range that has this byte of the blob; `undefined` if it is missing. */
  at(offset: number): HeldRange | undefined {
    const range = this.#ranges[this.#firstEndingAfter(offset)];
    return range && range.offset <= offset ? range : undefined;
  }

  get spans(): readonly Span[] {
    return this.#ranges;
  }

  clear(): void {
    this.#ranges = [];
  }

  #firstEndingAfter(offset: number): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const { offset: start = 0, length = 0 } = this.#ranges[middle] ?? {};
      if (start + length > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
