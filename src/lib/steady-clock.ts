import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import { type ClockJump, MAX_STEP_MS, SteadyTime, type TimeMark } from "./steady-time.ts";

/** How often the time of day is looked at while nothing asks for it. */
const LOOK_INTERVAL_MS = 60_000;
/** How often the mark is stored. */
const SAVE_INTERVAL_MS = 3_600_000;

const JUMPED_MESSAGE =
  "the time of day has jumped, or is far from that of the last run: nothing is deleted by it, and new records are dated by the " +
  "time before, until it was steady for long enough. Check the clock of this machine";

export interface SteadyClockOptions {
  /** The machine's, or the database's. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time that has passed, where that is not the machine's to say, in milliseconds. */
  readonly elapsed?: () => number;
  /** Whether a time service stands behind the time of day. */
  readonly isConfirmed?: () => boolean;
}

/** Where the mark of one run is kept for the next. */
export interface TimeMarkStore {
  readonly mark: TimeMark | undefined;
  /** Failures are not reported: an older mark only delays deletions. */
  readonly save: (mark: TimeMark) => void | Promise<void>;
}

/**
 * A clock whose records and deletions follow no jump of the time of day until `SteadyTime` believes it. It says each jump in the
 * log. Deletes nothing before `resume`.
 */
export class SteadyClock implements Clock, Disposable {
  readonly #options: SteadyClockOptions;
  readonly #asleepAtStartMs: number;
  #asleepMs = 0;
  #offset: number;
  #time: SteadyTime;
  #store: TimeMarkStore | undefined;
  #savedAt = 0;
  #timer: Disposable | undefined;
  #said: ClockJump | undefined;
  /** Called when records have followed the time of day back: some may be dated later than now. */
  onSetBack: () => void = () => {};

  constructor(options: SteadyClockOptions) {
    this.#options = options;
    this.#asleepAtStartMs = this.#readAsleepMs();
    this.#offset = this.timeOfDay() - this.monotonic();
    this.#time = new SteadyTime(this.timeOfDay(), this.#elapsed());
  }

  /** Takes up what the last run has left. From then on the time is watched, and things may be deleted. */
  resume(store: TimeMarkStore): void {
    this.#store = store;
    this.#time = new SteadyTime(this.timeOfDay(), this.#elapsed(), store.mark);
    this.#look();
    this.#save();
    this.#arm();
  }

  now(): number {
    this.#look();
    return this.#time.recordMs(this.#elapsed());
  }

  timeOfDay(): number {
    return this.#options.clock.timeOfDay();
  }

  deletionTime(): number {
    this.#look();
    return this.#store ? this.#time.deletionMs(this.#elapsed()) : -Infinity;
  }

  monotonic(): number {
    return this.#options.clock.monotonic();
  }

  timer(ms: number, callback: () => void): Disposable {
    return this.#options.clock.timer(ms, callback);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#options.clock.sleep(ms, signal);
  }

  unbelievedJump(): ClockJump | undefined {
    this.#look();
    return this.#time.jump(this.#elapsed());
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#look();
    this.#save();
    this.#store = undefined;
  }

  #look(): void {
    const nowMs = this.timeOfDay();
    const offset = nowMs - this.monotonic();
    // A machine that was suspended has two clocks that part, too.
    if (Math.abs(offset - this.#offset) > 1_000) this.#asleepMs = this.#readAsleepMs() - this.#asleepAtStartMs;
    this.#offset = offset;
    const elapsedMs = this.#elapsed();
    const before = this.#time.recordMs(elapsedMs);
    this.#time.observe(nowMs, elapsedMs);
    if (this.#time.areRecordsBehind && this.#options.isConfirmed?.()) this.#time.observe(nowMs, elapsedMs, true);
    if (!this.#time.isSettled || this.#said) this.#say(elapsedMs);
    if (this.#time.recordMs(elapsedMs) < before - MAX_STEP_MS) this.onSetBack();
  }

  #say(elapsedMs: number): void {
    const { logger } = this.#options;
    const jump = this.#time.jump(elapsedMs);
    const said = this.#said;
    this.#said = jump;
    if (jump && (!said || Math.abs(jump.ms - said.ms) > MAX_STEP_MS)) {
      const fields = {
        seconds: Math.round(jump.ms / 1000),
        records_follow_in_s: Math.ceil(jump.recordsInMs / 1000),
        deletions_follow_in_s: Math.ceil(jump.deletionsInMs / 1000),
      };
      logger.warn(fields, JUMPED_MESSAGE);
    } else if (said && said.recordsInMs > 0 && jump?.recordsInMs === 0) {
      logger.info("new records are dated by the time of day again; nothing is deleted by it yet");
    } else if (said && !jump) logger.info("the time of day is believed again");
  }

  #arm(): void {
    this.#timer = this.#options.clock.timer(LOOK_INTERVAL_MS, () => {
      this.#look();
      if (this.monotonic() - this.#savedAt >= SAVE_INTERVAL_MS) this.#save();
      this.#arm();
    });
  }

  #save(): void {
    this.#savedAt = this.monotonic();
    void this.#store?.save(this.#time.mark(this.#elapsed()));
  }

  #elapsed(): number {
    return this.#options.elapsed?.() ?? this.monotonic() + this.#asleepMs;
  }

  /** For how long the machine was suspended since it booted, plus a constant. */
  #readAsleepMs(): number {
    const { clock } = this.#options;
    return (clock.sinceBoot?.() ?? clock.monotonic()) - clock.monotonic();
  }
}

/** Reads a stored mark; `undefined` if there is none, or it is damaged. */
export function parseTimeMark(text: string | undefined | null): TimeMark | undefined {
  try {
    const mark = JSON.parse(text ?? "null") as TimeMark | null;
    const isMark = mark !== null && [mark.keptMs, mark.seenMs, mark.steadyMs].every(Number.isSafeInteger);
    return isMark ? mark : undefined;
  } catch {
    return undefined;
  }
}
