import type { Logger } from "../../lib/logger.ts";

/** Number of bad frames above which the session is closed. */
const MAX_BAD_FRAMES = 20;
const MAX_LOGGED_FRAMES = 5;

/** Counts and logs bad frames, without their content. */
export class BadFrameCounter {
  readonly #logger: Logger;
  #count = 0;
  #ignored = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Counts a bad frame. Returns whether the limit is exceeded. */
  add(reason: string): boolean {
    this.#count++;
    if (this.#count <= MAX_LOGGED_FRAMES) this.#logger.warn({ reason, count: this.#count }, "frame refused");
    return this.#count > MAX_BAD_FRAMES;
  }

  /** Counts a frame that is ignored but is not an error, such as a frame type of a newer agent. */
  countUnknown(type: string): void {
    this.#ignored++;
    if (this.#ignored <= MAX_LOGGED_FRAMES) this.#logger.info({ type, count: this.#ignored }, "unknown frame ignored");
  }

  /** Counters for the session's last log line. */
  get counts(): { readonly refused: number; readonly ignored: number } {
    return { refused: this.#count, ignored: this.#ignored };
  }
}
