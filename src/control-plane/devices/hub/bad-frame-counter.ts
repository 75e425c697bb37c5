/** Number of bad frames above which the session is closed. */
const MAX_BAD_FRAMES = 20;
const MAX_LOGGED_FRAMES = 5;

export interface BadFrameCounts {
  readonly refused: number;
  readonly ignored: number;
}

/** The counts of a session without bad frames, which needs no counter. */
export const NO_BAD_FRAMES: BadFrameCounts = { refused: 0, ignored: 0 };

type Log = (level: "info" | "warn", fields: object, message: string) => void;

/** Counts and logs bad frames, without their content. */
export class BadFrameCounter {
  readonly #log: Log;
  #count = 0;
  #ignored = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Counts a bad frame. Returns whether the limit is exceeded. */
  add(reason: string): boolean {
    this.#count++;
    if (this.#count <= MAX_LOGGED_FRAMES) this.#log("warn", { reason, count: this.#count }, "frame refused");
    return this.#count > MAX_BAD_FRAMES;
  }

  /** Counts a frame that is ignored but is not an error, such as a frame type of a newer agent. */
  countUnknown(type: string): void {
    this.#ignored++;
    if (this.#ignored <= MAX_LOGGED_FRAMES) this.#log("info", { type, count: this.#ignored }, "unknown frame ignored");
  }

  /** Counters for the session's last log line. */
  get counts(): BadFrameCounts {
    return { refused: this.#count, ignored: this.#ignored };
  }
}
