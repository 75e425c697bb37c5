const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A smaller step is followed at once: time services correct a clock by that. */
export const MAX_STEP_MS = 60_000;
/** Records follow a time of day that has jumped after it was steady for this long. */
export const FOLLOW_AFTER_MS = HOUR_MS;
/** Deletions follow it after this. */
export const DELETE_AFTER_MS = DAY_MS;
/** A process that was away for longer waits before it deletes: it may have been off, or the clock may have jumped. */
export const MAX_AWAY_MS = 7 * DAY_MS;
/** An earlier time of day is of a clock that was never set: this program is newer. */
const MIN_TIME_MS = Date.UTC(2026, 0, 1);

/** What is known of the time, for the next start. Unix milliseconds. */
export interface TimeMark {
  /** The time by which was deleted. */
  readonly keptMs: number;
  /** The time of day, believed or not. */
  readonly seenMs: number;
  /** For how long it had been without a jump. */
  readonly steadyMs: number;
}

/** How the time of day differs from what is believed. */
export interface ClockJump {
  /** By how much it jumped, or differs from what the last run has left, in milliseconds. */
  readonly ms: number;
  /** Until records follow it, in milliseconds; 0: they do. */
  readonly recordsInMs: number;
  /** Until deletions follow it, in milliseconds. */
  readonly deletionsInMs: number;
}

/**
 * Decides which time to believe when the time of day jumps against the time that has really passed. Records, and what expires, follow
 * after an hour without another jump; deletions after a day. A time of day that returns is believed at once. Pure: both times
 * are arguments.
 *
 * Each offset is the difference between a time and the elapsed time.
 */
export class SteadyTime {
  /** Of the time of day when it was last looked at. */
  #seen: number;
  /** Elapsed time at which the time of day was first without a jump. */
  #steadySince: number;
  #records: number;
  #deletions: number;
  /** By how much the time of day may be ahead of that of deletions to have returned to it: what the mark does not tell of. */
  #unknownMs = MAX_STEP_MS;

  /** @param mark of the run before; absent on the first start, when there is nothing to delete */
  constructor(nowMs: number, elapsedMs: number, mark?: TimeMark) {
    const isLater = (ms: number): boolean => nowMs >= ms - MAX_STEP_MS;
    const follows = (ms: number): boolean => isLater(ms) && nowMs <= ms + MAX_AWAY_MS;
    this.#seen = nowMs - elapsedMs;
    this.#steadySince = elapsedMs - (mark && follows(mark.seenMs) ? mark.steadyMs : 0);
    const isDoubtful = mark !== undefined && !follows(mark.keptMs);
    this.#deletions = isDoubtful ? mark.keptMs - elapsedMs : this.#seen;
    if (isDoubtful) this.#unknownMs = MAX_AWAY_MS;
    // It may have been off for years: records begin by the time of day. But no time is before one that was.
    this.#records = mark && !isLater(mark.keptMs) ? this.#deletions : this.#seen;
    this.#follow(nowMs, elapsedMs, false);
  }

  /** Must be called before the times are read. @param isConfirmed whether a time service stands behind the time of day */
  observe(nowMs: number, elapsedMs: number, isConfirmed = false): void {
    const seen = nowMs - elapsedMs;
    if (!isNear(seen, this.#seen)) this.#steadySince = elapsedMs;
    // What followed the time of day still does, however it drifts.
    if (isNear(seen, this.#seen)) {
      if (this.#records === this.#seen) this.#records = seen;
      if (this.#deletions === this.#seen) this.#deletions = seen;
    }
    this.#seen = seen;
    this.#follow(nowMs, elapsedMs, isConfirmed);
  }

  /** The time of records and of what expires. Does not jump until the time of day is believed. */
  recordMs(elapsedMs: number): number {
    return Math.round(elapsedMs + this.#records);
  }

  /** The time by which may be deleted: the earliest that it can be. */
  deletionMs(elapsedMs: number): number {
    return Math.round(elapsedMs + Math.min(this.#deletions, this.#records, this.#seen));
  }

  get areRecordsBehind(): boolean {
    return this.#records !== this.#seen;
  }

  /** Whether everything follows the time of day. */
  get isSettled(): boolean {
    return this.#records === this.#seen && this.#deletions === this.#seen;
  }

  /** The jump that is not believed yet; `undefined`: none. */
  jump(elapsedMs: number): ClockJump | undefined {
    if (this.isSettled) return undefined;
    const steadyMs = elapsedMs - this.#steadySince;
    return {
      ms: Math.round(this.#seen - (this.areRecordsBehind ? this.#records : this.#deletions)),
      recordsInMs: this.areRecordsBehind ? Math.max(0, FOLLOW_AFTER_MS - steadyMs) : 0,
      deletionsInMs: Math.max(0, DELETE_AFTER_MS - steadyMs),
    };
  }

  mark(elapsedMs: number): TimeMark {
    return {
      keptMs: Math.round(elapsedMs + this.#deletions),
      seenMs: Math.round(elapsedMs + this.#seen),
      steadyMs: Math.round(elapsedMs - this.#steadySince),
    };
  }

  #follow(nowMs: number, elapsedMs: number, isConfirmed: boolean): void {
    const steadyMs = elapsedMs - this.#steadySince;
    const isPossible = nowMs >= MIN_TIME_MS;
    const aheadMs = this.#seen - this.#deletions;
    const hasReturned = aheadMs >= -MAX_STEP_MS && aheadMs <= this.#unknownMs;
    if (hasReturned || (isPossible && steadyMs >= DELETE_AFTER_MS)) {
      this.#deletions = this.#seen;
      this.#unknownMs = MAX_STEP_MS;
    }
    const wasSet = elapsedMs + this.#records >= MIN_TIME_MS;
    const mayFollow = isPossible && (isConfirmed || !wasSet || steadyMs >= FOLLOW_AFTER_MS);
    if (hasReturned || mayFollow || isNear(this.#seen, this.#records)) this.#records = this.#seen;
  }
}

function isNear(offset: number, other: number): boolean {
  return Math.abs(offset - other) <= MAX_STEP_MS;
}
