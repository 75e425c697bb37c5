import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

/** Ignored frames of the control plane, counted since the process started. */
export interface FrameCounts {
  /** Not a frame of the protocol, or out of order. */
  readonly bad: number;
  /** Of a type unknown to this agent, from a newer control plane. */
  readonly unknown: number;
  /** Acknowledgements of events that were not sent in this session or are already acknowledged, and unexpected queries. */
  readonly stray: number;
}

type Kind = keyof FrameCounts;

const LEVEL = { bad: "warn", unknown: "info", stray: "debug" } as const satisfies Record<Kind, string>;

const TEXT: Readonly<Record<Kind, string>> = {
  bad: "bad frame from the control plane ignored",
  unknown: "frame of an unknown type from the control plane ignored",
  stray: "acknowledgement or query ignored: nothing in this session matches it",
};

/** Minimum time between log lines of one kind, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/** Counts ignored frames and logs them at a limited rate. */
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

  /** @param why must not contain any of the frame's content */
  count(kind: Kind, why: string): void {
    const count = ++this.#counts[kind];
    const now = this.#clock.monotonic();
    const last = this.#logged.get(kind);
    if (last && now - last.at < LOG_INTERVAL_MS) return;
    this.#logged.set(kind, { at: now, count });
    this.#logger[LEVEL[kind]]({ why, count, since_last_line: count - (last?.count ?? 0) }, TEXT[kind]);
  }
}
