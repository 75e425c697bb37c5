import type { TimeRange } from "../usage-period.ts";

const DAY = 24 * 3600;
/** Longest gap between what is stored and what is asked for that is read only to have it without gaps. */
const MAX_GAP_S = 400 * DAY;

/** What is stored of the usage that an operator counts: whole days in UTC, without gaps. Unix seconds unless said. */
export interface UsageCoverage {
  readonly from: number;
  /** Days before it are final: the operator is not asked for them again. */
  readonly finalUntil: number;
  readonly until: number;
  /** When the operator was last asked for what is not final, in Unix milliseconds. */
  readonly readAtMs: number;
}

/** What the operator has to be asked for. */
export interface UsageReading {
  /** Whole days; empty if what is stored is good enough. */
  readonly ranges: readonly TimeRange[];
  /** What is covered once they are read. */
  readonly coverage: UsageCoverage;
}

export interface UsageQuestion {
  /** The days that are needed; the last one may not be over. */
  readonly needed: TimeRange;
  readonly nowMs: number;
  /** Usage before this time does not change any more, in Unix seconds. */
  readonly finalizedUntil: number;
  /** How old an answer about what is not final may be, in milliseconds. */
  readonly refreshMs: number;
}

/** Returns the whole days that contain the range, none of them after today. */
export function neededDays({ start, end }: TimeRange, nowMs: number): TimeRange {
  const tomorrow = ceilDay(nowMs / 1000 + 1);
  return { start: floorDay(start), end: Math.min(ceilDay(end), tomorrow) };
}

/** Returns what the operator has to be asked for, so that the days that are needed are there, as young as they should be. */
export function planReading(known: UsageCoverage | undefined, question: UsageQuestion): UsageReading {
  const { needed, nowMs } = question;
  const finalDay = floorDay(question.finalizedUntil);
  const finalUntil = (range: TimeRange): number => Math.min(Math.max(finalDay, range.start), range.end);
  const all = (range: TimeRange): UsageReading => ({
    ranges: range.start < range.end ? [range] : [],
    coverage: { from: range.start, finalUntil: finalUntil(range), until: range.end, readAtMs: nowMs },
  });
  if (!known || isFarFrom(known, needed)) return all(needed);

  const isOld = nowMs - known.readAtMs >= question.refreshMs || nowMs < known.readAtMs;
  const touchesYoung = needed.end > known.finalUntil;
  const readsTail = needed.end > known.until || (touchesYoung && isOld && known.until > known.finalUntil);
  const readsHead = needed.start < known.from;
  const covered = { start: Math.min(known.from, needed.start), end: Math.max(known.until, needed.end) };
  // Nothing of it is final yet: one question for all.
  if (readsHead && known.finalUntil <= known.from) return all(covered);
  const head = readsHead ? [{ start: needed.start, end: known.from }] : [];
  const tail = readsTail ? [{ start: known.finalUntil, end: covered.end }] : [];
  return {
    ranges: [...head, ...tail],
    coverage: {
      from: covered.start,
      finalUntil: readsTail ? finalUntil({ start: known.finalUntil, end: covered.end }) : known.finalUntil,
      until: readsTail ? covered.end : known.until,
      readAtMs: readsTail ? nowMs : known.readAtMs,
    },
  };
}

/** Whether what is stored answers the question, if only as it was when the operator last answered. */
export function isAnswered({ from, until }: UsageCoverage, { start }: TimeRange): boolean {
  return from <= start && start < until;
}

function isFarFrom({ from, until }: UsageCoverage, { start, end }: TimeRange): boolean {
  return start - until > MAX_GAP_S || from - end > MAX_GAP_S;
}

function floorDay(time: number): number {
  return time - (time % DAY);
}

function ceilDay(time: number): number {
  return Math.ceil(time / DAY) * DAY;
}
