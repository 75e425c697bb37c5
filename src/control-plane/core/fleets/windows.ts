import { type Day, DEVICE_ZONE, type RolloutWindow } from "../../../protocol/fleets/rollout-strategy.ts";

const DAY_MS = 24 * 3_600_000;
const MINUTE_MS = 60_000;

/** Whether something may begin now, by the windows of a strategy. Times are Unix milliseconds. */
export type WindowState =
  | {
      readonly kind: "open";
      /** The first moment at which no window is open any more; `undefined`: not within a week. */
      readonly closesAtMs: number | undefined;
    }
  | { readonly kind: "closed"; readonly opensAtMs: number }
  | {
      /** Windows in the zone of the device would decide, and that zone is not known. The other windows are closed. */
      readonly kind: "unknown_zone";
      /** When the first of the other windows opens; `undefined` if there are none. */
      readonly opensAtMs: number | undefined;
    };

/** Every window opens at least once in this time, also if the clock leaves out its day. */
const LOOK_AHEAD_MS = 9 * DAY_MS;

/** A window lasts a day at most, a clock leaves out one more at most, and wall clocks differ from UTC by less than one. */
const MARGIN_MS = 3 * DAY_MS;

/**
 * Returns whether one of the windows is open. Without windows, it is always open. The result depends on nothing but the
 * arguments, so that it can be computed once for all devices of a zone.
 *
 * @param deviceZone IANA name of the device's zone; `undefined` if the device has not reported any
 */
export function windowStateAt(
  windows: readonly RolloutWindow[],
  deviceZone: string | undefined,
  nowMs: number,
): WindowState {
  if (windows.length === 0) return { kind: "open", closesAtMs: undefined };
  const { intervals, isZoneMissing } = intervalsAround(windows, deviceZone, nowMs);
  // Sorted, so that the first one that has not ended is the open one, or the next.
  const next = union(intervals).find(({ toMs }) => toMs > nowMs);
  if (next !== undefined && next.fromMs <= nowMs) {
    return { kind: "open", closesAtMs: next.toMs > nowMs + LOOK_AHEAD_MS ? undefined : next.toMs };
  }
  if (isZoneMissing) return { kind: "unknown_zone", opensAtMs: next?.fromMs };
  if (next === undefined)
    throw new Error("no window opens within a week: a strategy has at least one day in each window");
  return { kind: "closed", opensAtMs: next.fromMs };
}

function intervalsAround(windows: readonly RolloutWindow[], deviceZone: string | undefined, nowMs: number) {
  const intervals: Interval[] = [];
  let isZoneMissing = false;
  for (const [zone, group] of Map.groupBy(windows, (window) => window.zone)) {
    const name = zone === DEVICE_ZONE ? deviceZone : zone;
    const spans = name && offsetSpans(name, nowMs - MARGIN_MS, nowMs + LOOK_AHEAD_MS + MARGIN_MS);
    if (spans) intervals.push(...group.flatMap((window) => windowIntervals(window, spans)));
    else isZoneMissing = true;
  }
  return { intervals, isZoneMissing };
}

/** Returns the union as intervals that neither overlap nor touch, in order. */
function union(intervals: readonly Interval[]): readonly Interval[] {
  const merged: Interval[] = [];
  for (const each of intervals.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last === undefined || each.fromMs > last.toMs) merged.push(each);
    else merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, each.toMs) };
  }
  return merged;
}

/** A time range in Unix milliseconds, `fromMs` inclusive, `toMs` exclusive. */
interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

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
function windowIntervals(window: RolloutWindow, spans: readonly OffsetSpan[]): readonly Interval[] {
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

/** A span of time in which a zone keeps one offset from UTC. Unix milliseconds, `fromMs` inclusive, `toMs` exclusive. */
interface OffsetSpan {
  readonly fromMs: number;
  readonly toMs: number;
  /** Wall-clock time less UTC. */
  readonly offsetMs: number;
}

/** Returns the offsets of a zone between two times, in order; `undefined` if this service does not know the zone. */
function offsetSpans(zone: string, fromMs: number, toMs: number): readonly OffsetSpan[] | undefined {
  const spans: OffsetSpan[] = [];
  const start = zonedTime(zone, fromMs);
  if (start === undefined) return undefined;
  let at: Temporal.ZonedDateTime | null = start;
  while (at !== null && at.epochMilliseconds < toMs) {
    const next: Temporal.ZonedDateTime | null = at.getTimeZoneTransition("next");
    const endMs = Math.min(next?.epochMilliseconds ?? toMs, toMs);
    spans.push({ fromMs: at.epochMilliseconds, toMs: endMs, offsetMs: at.offsetNanoseconds / 1_000_000 });
    at = next;
  }
  return spans;
}

function zonedTime(zone: string, atMs: number): Temporal.ZonedDateTime | undefined {
  try {
    return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
