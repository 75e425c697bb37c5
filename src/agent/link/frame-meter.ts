import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

/** Frames of the control plane that were not acted upon, since the process started. */
export interface FrameCounts {
  /** Not a frame of the protocol, or one out of order. */
  readonly bad: number;
  /** Of a type this agent does not know: from a newer control plane. */
  readonly unknown: number;
  /** Acknowledgements of what was not sent in the session, or was acknowledged before. */
  readonly stray: number;
}

type Kind = keyof FrameCounts;

const LEVEL = { bad: "warn", unknown: "info", stray: "debug" } as const satisfies Record<Kind, string>;

const TEXT: Readonly<Record<Kind, string>> = {
  bad: "bad frame from the control plane ignored",
  unknown: "frame of an unknown type from the control plane ignored",
  stray: "acknowledgement of an event that does not wait for one ignored",
};

/** At most one line a kind in this time, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/** Counts frames that were not acted upon, and tells the log without letting the other side fill it. */
export class FrameMeter {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #counts: Record<Kind, number> = { bad: 0, unknown: 0, stray: 0 };
  readonly #logged = new Map<Kind, { readonly at: number; readonly count: number }>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get counts(): FrameCounts {
    return { ...this.#counts };
  }

  /** @param why repeats nothing of the frame's content */
  count(kind: Kind, why: string): void {
    const count = ++this.#counts[kind];
    const now = this.#clock.monotonic();
    const last = this.#logged.get(kind);
    if (last && now - last.at < LOG_INTERVAL_MS) return;
    this.#logged.set(kind, { at: now, count });
    this.#logger[LEVEL[kind]]({ why, count, since_last_line: count - (last?.count ?? 0) }, TEXT[kind]);
  }
}
