import type { DisconnectReason, UptimePeriod } from "../../protocol/assets/connectivity.ts";
import { CLOSE_CODES } from "../../protocol/link/frames.ts";

/** Unix seconds; the end is exclusive. */
export interface HistoryRange {
  readonly from: number;
  readonly to: number;
}

/** A time in which a device was connected, apart from interruptions that are counted. Times are Unix seconds. */
export interface ConnectionInterval {
  readonly startedAt: number;
  /** `undefined` while the device is connected. */
  readonly endedAt: number | undefined;
  /** Why it ended; `undefined` while it has not. */
  readonly endReason: DisconnectReason | undefined;
  /** How often a new connection of the device took the place of one that was on record as open. */
  readonly takeovers: number;
  readonly interruptions: number;
  readonly interruptedS: number;
  readonly longestInterruptionS: number;
}

/** A part of a device's time: connected, or why not. */
export type ConnectivitySpan = HistoryRange & {
  /** Whether it goes on at the end of the range. */
  readonly isOpen: boolean;
} & (
    | { readonly state: "connected"; readonly interval: ConnectionInterval }
    | { readonly state: "disconnected"; readonly reason: DisconnectReason | undefined }
  );

/**
 * Returns the device's time within a range without holes, the newest part first. What was before its first known connection is not
 * known, and no part of it.
 *
 * @param intervals the newest first, with the last one that began before the range
 */
export function spansOf(intervals: readonly ConnectionInterval[], { from, to }: HistoryRange): ConnectivitySpan[] {
  const spans: ConnectivitySpan[] = [];
  const add = (span: ConnectivitySpan): void => {
    if (span.to > span.from) spans.push(span);
  };
  let until = to;
  for (const interval of intervals) {
    const { startedAt, endedAt, endReason: reason } = interval;
    if (startedAt >= until) continue;
    const ended = Math.min(endedAt ?? until, until);
    const isOpen = until === to;
    add({ state: "disconnected", from: Math.max(ended, from), to: until, isOpen, reason });
    const isInterrupted = ended < until;
    add({ state: "connected", from: Math.max(startedAt, from), to: ended, isOpen: isOpen && !isInterrupted, interval });
    until = startedAt;
  }
  return spans;
}

export interface Uptime extends HistoryRange {
  /** Seconds of which it is known whether the device was connected. */
  readonly knownS: number;
  readonly connectedS: number;
  /** Times without a connection, which begin within the range or before. */
  readonly disconnections: number;
  readonly longestGapS: number;
}

/**
 * Returns how long the device was connected in each of the periods. Interruptions within an interval that is longer than the
 * period count by its share of the interval.
 *
 * @param intervals as for `spansOf`, for all periods
 * @param periods in order
 */
export function uptimesOf(intervals: readonly ConnectionInterval[], periods: readonly HistoryRange[]): Uptime[] {
  const [first] = periods;
  const last = periods.at(-1);
  if (!first || !last) return [];
  const spans = spansOf(intervals, { from: first.from, to: last.to }).toReversed();
  let next = 0;
  return periods.map((period) => {
    let knownS = 0;
    let connectedS = 0;
    let disconnections = 0;
    let longestGapS = 0;
    while ((spans[next]?.to ?? Infinity) <= period.from) next++;
    for (let index = next; ; index++) {
      const span = spans[index];
      if (!span || span.from >= period.to) break;
      const seconds = Math.min(span.to, period.to) - Math.max(span.from, period.from);
      knownS += seconds;
      if (span.state === "disconnected") {
        disconnections++;
        longestGapS = Math.max(longestGapS, seconds);
        continue;
      }
      const { startedAt, interruptions, interruptedS, longestInterruptionS } = span.interval;
      const share = seconds / Math.max(1, (span.interval.endedAt ?? span.to) - startedAt);
      connectedS += Math.max(0, seconds - Math.round(interruptedS * Math.min(1, share)));
      disconnections += Math.round(interruptions * Math.min(1, share));
      longestGapS = Math.max(longestGapS, Math.min(seconds, longestInterruptionS));
    }
    return { ...period, knownS, connectedS, disconnections, longestGapS };
  });
}

const DAY_S = 86_400;
/** 1 January 1970 was a Thursday. */
const FIRST_MONDAY_S = 4 * DAY_S;

/** Returns the periods that a range has parts of, in UTC, weeks from Monday on; the first and the last end with the range. */
export function periodsOf({ from, to }: HistoryRange, period: UptimePeriod): HistoryRange[] {
  const periods: HistoryRange[] = [];
  for (let start = from; start < to;) {
    const end = Math.min(endOf(start, period), to);
    periods.push({ from: start, to: end });
    start = end;
  }
  return periods;
}

function endOf(time: number, period: UptimePeriod): number {
  switch (period) {
    case "day":
      return (Math.floor(time / DAY_S) + 1) * DAY_S;
    case "week":
      return (Math.floor((time - FIRST_MONDAY_S) / (7 * DAY_S)) + 1) * 7 * DAY_S + FIRST_MONDAY_S;
    case "month": {
      const date = new Date(time * 1000);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1000;
    }
  }
}

const NORMAL_CLOSURE = 1000;
const NO_STATUS = 1005;

const REASONS: ReadonlyMap<number, DisconnectReason> = new Map([
  [NORMAL_CLOSURE, "closed"],
  [CLOSE_CODES.goingAway, "closed"],
  [NO_STATUS, "closed"],
  [CLOSE_CODES.restart, "service"],
  [CLOSE_CODES.internal, "service"],
  [CLOSE_CODES.tooBig, "refused"],
  [CLOSE_CODES.badFrame, "refused"],
  [CLOSE_CODES.unauthorized, "refused"],
  [CLOSE_CODES.unsupportedProtocol, "refused"],
]);

/** Returns why a device's connection ended, from the close code of whichever side closed it; `undefined`: neither did. */
export function disconnectReasonOf(code: number | undefined): DisconnectReason {
  return (code === undefined ? undefined : REASONS.get(code)) ?? "lost";
}
