import type { Logger } from "../../lib/logger.ts";

/** How many frames a device may send that are not in order before its session is closed. */
const MAX_BAD_FRAMES = 20;
const MAX_LOGGED_FRAMES = 5;

/** Counts and logs what a device should not have sent; never what it contained. */
export class BadFrameCounter {
  readonly #logger: Logger;
  #count = 0;
  #ignored = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Answers whether it was one too many. */
  add(reason: string): boolean {
    this.#count++;
    if (this.#count <= MAX_LOGGED_FRAMES) this.#logger.warn({ reason, count: this.#count }, "frame refused");
    return this.#count > MAX_BAD_FRAMES;
  }

  /** A frame that nothing can be done about and that is no fault, such as one of a type of a newer agent. */
  countUnknown(type: string): void {
    this.#ignored++;
    if (this.#ignored <= MAX_LOGGED_FRAMES) this.#logger.info({ type, count: this.#ignored }, "unknown frame ignored");
  }

  /** For the session's last line. */
  get counts(): { readonly refused: number; readonly ignored: number } {
    return { refused: this.#count, ignored: this.#ignored };
  }
}
