import type { Day, RolloutWindow } from "../../../protocol/rollout-strategy.ts";
import type { OffsetSpan } from "./offset-spans.ts";

/** A time range in Unix milliseconds, `fromMs` inclusive, `toMs` exclusive. */
export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

export const DAY_MS = 24 * 3_600_000;
const MINUTE_MS = 60_000;

/** Day number 0, 1 January 1970, was a Thursday. */
const DAYS_FROM_DAY_0: readonly Day[] = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];

/*
 * A window is open while the wall clock of its zone shows a time inside of it. So an hour that a change of the clock repeats is
 * inside twice, and one that is left out shortens the window. Only where the clock leaves out the whole window, it opens at the
 * first moment afterwards, for its usual length: a night's work is late then, but not lost.
 *
 * Wall-clock times are kept as the Unix milliseconds at which UTC shows the same.
 */

/** Returns when the window is open within the spans, in no particular order. Near both ends intervals may be missing. */
export function windowIntervals(window: RolloutWindow, spans: readonly OffsetSpan[]): readonly Interval[] {
  const first = spans[0];
  const last = spans.at(-1);
  if (first === undefined || last === undefined) return [];
  const lastDay = Math.floor((last.toMs + last.offsetMs) / DAY_MS);
  const intervals: Interval[] = [];
  for (let day = Math.floor((first.fromMs + first.offsetMs) / DAY_MS); day <= lastDay; day++) {
    if (window.days.includes(dayOfWeek(day))) intervals.push(...openingsOn(day, window, spans));
  }
  return intervals;
}

function openingsOn(day: number, window: RolloutWindow, spans: readonly OffsetSpan[]): readonly Interval[] {
  const from = minuteOfDay(window.from);
  const to = minuteOfDay(window.to);
  const wall = {
    fromMs: day * DAY_MS + from * MINUTE_MS,
    toMs: (to > from ? day : day + 1) * DAY_MS + to * MINUTE_MS,
  };
  const openings = spans.flatMap((span) => {
    const fromMs = Math.max(span.fromMs, wall.fromMs - span.offsetMs);
    const toMs = Math.min(span.toMs, wall.toMs - span.offsetMs);
    return fromMs < toMs ? [{ fromMs, toMs }] : [];
  });
  return openings.length > 0 ? openings : openingAfterGap(wall, spans);
}

function openingAfterGap(wall: Interval, spans: readonly OffsetSpan[]): readonly Interval[] {
  const after = spans.find((span, index) => {
    const before = spans[index - 1];
    if (before === undefined) return false;
    return before.toMs + before.offsetMs <= wall.fromMs && wall.toMs <= span.fromMs + span.offsetMs;
  });
  return after === undefined ? [] : [{ fromMs: after.fromMs, toMs: after.fromMs + (wall.toMs - wall.fromMs) }];
}

function dayOfWeek(day: number): Day {
  return DAYS_FROM_DAY_0[((day % 7) + 7) % 7] as Day;
}

function minuteOfDay(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
