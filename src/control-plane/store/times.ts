import type { TimeMark } from "../../lib/steady-time.ts";

/** What the service knows of the time, over restarts. */
export interface TimeStore {
  /** Returns the mark that was stored last; `undefined` if none was. */
  readMark(): Promise<TimeMark | undefined>;
  saveMark(mark: TimeMark): Promise<void>;
  /**
   * Brings to now what was put off, or begun, by a time that is over now: the clock was set back. Returns how many records it
   * changed.
   *
   * @param nowMs Unix milliseconds
   */
  setBack(nowMs: number): Promise<number>;
}
