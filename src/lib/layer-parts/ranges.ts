import type { BlobRange } from "./layer-layout.ts";

/** What a request costs beside the bytes it asks for. */
export interface RequestCost {
  /** Bytes on the wire for a request: headers in both directions, a token, a redirect. */
  readonly overheadBytes: number;
  /** Maximum number of requests for a layer. Each takes a round trip, which on a cellular link is half a second. */
  readonly maxRequests: number;
}

export const REQUEST_COST: RequestCost = { overheadBytes: 2048, maxRequests: 256 };

/** A byte range of one blob. */
export interface Span {
  readonly offset: number;
  /** Bytes, at least 1. */
  readonly length: number;
}

/**
 * The cheapest requests for the given ranges of one blob. Fetching a gap costs its bytes and saves a request, so each gap of
 * up to `overheadBytes` is fetched, and then the smallest until the requests are few enough.
 *
 * @param spans in any order, also overlapping
 * @returns disjoint, in the order of the blob
 */
export function mergeSpans(spans: Iterable<Span>, cost: RequestCost): Span[] {
  const joined = joinWithin([...spans], cost.overheadBytes);
  if (joined.length <= cost.maxRequests) return joined;
  const gaps = joined.slice(1).map((span, index) => span.offset - endOf(joined[index] ?? span));
  const largest = gaps
    .map((gap, index) => ({ gap, index }))
    .toSorted((one, other) => other.gap - one.gap)
    .slice(0, Math.max(0, cost.maxRequests - 1));
  const isKept = new Set(largest.map(({ index }) => index));
  return joinWhere(joined, (index) => !isKept.has(index));
}

/** What of the spans is in none of the others. Both in any order. */
export function subtractSpans(spans: Iterable<Span>, others: Iterable<Span>): Span[] {
  const holes = joinWithin([...others], 0);
  const left: Span[] = [];
  let hole = 0;
  for (const span of joinWithin([...spans], 0)) {
    let from = span.offset;
    while (hole < holes.length && endOf(holes[hole] as Span) <= from) hole++;
    for (let at = hole; at < holes.length; at++) {
      const { offset, length } = holes[at] as Span;
      if (offset >= endOf(span)) break;
      if (offset > from) left.push({ offset: from, length: offset - from });
      from = Math.max(from, offset + length);
    }
    if (from < endOf(span)) left.push({ offset: from, length: endOf(span) - from });
  }
  return left;
}

/** Bytes on the wire for requests of these spans. */
export function costOf(spans: readonly Span[], cost: RequestCost): number {
  return sumOfLengths(spans) + spans.length * cost.overheadBytes;
}

export function sumOfLengths(spans: readonly Span[]): number {
  return spans.reduce((sum, { length }) => sum + length, 0);
}

export function placedIn(blob: BlobRange["blob"], spans: readonly Span[]): BlobRange[] {
  return spans.map(({ offset, length }) => ({ blob, offset, length }));
}

function endOf(span: Span): number {
  return span.offset + span.length;
}

function joinWithin(spans: readonly Span[], maxGap: number): Span[] {
  const sorted = spans.toSorted((one, other) => one.offset - other.offset);
  const joined: { offset: number; length: number }[] = [];
  for (const { offset, length } of sorted) {
    const last = joined.at(-1);
    if (last !== undefined && offset - endOf(last) <= maxGap) {
      last.length = Math.max(last.length, offset + length - last.offset);
    } else joined.push({ offset, length });
  }
  return joined;
}

/** @param mustJoin for the gap behind the span with this index */
function joinWhere(spans: readonly Span[], mustJoin: (index: number) => boolean): Span[] {
  const joined: { offset: number; length: number }[] = [];
  spans.forEach(({ offset, length }, index) => {
    const last = joined.at(-1);
    if (last !== undefined && mustJoin(index - 1)) last.length = offset + length - last.offset;
    else joined.push({ offset, length });
  });
  return joined;
}
