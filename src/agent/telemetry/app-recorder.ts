import { type Clock, unixNow } from "../../lib/clock.ts";
import { type AppFigures, type AppHealthRow, combineAppRows } from "../../protocol/link/app-health.ts";
import { startOf } from "../../protocol/link/health-points.ts";
import { HEALTH_REPORT_ROW_S } from "../../protocol/link/health-rows.ts";
import type { AppRing } from "./app-ring.ts";

/** A sample counts for the time before it. */
const HALF_SAMPLE_S = 30;

export interface AppRecorderOptions {
  readonly sampler: { sample(): ReadonlyMap<string, AppFigures> };
  readonly ring: Pick<AppRing, "add" | "rows">;
  readonly clock: Clock;
}

/** Keeps what the apps use, in rows of 15 minutes. */
export class AppRecorder {
  readonly #options: AppRecorderOptions;
  /** Samples of the row that is under way. */
  #samples: readonly AppHealthRow[] = [];

  constructor(options: AppRecorderOptions) {
    this.#options = options;
  }

  /** Takes a sample, once a minute; returns whether a row has ended. Throws if it cannot be written; it is lost then. */
  sample(): boolean {
    const { sampler, ring, clock } = this.#options;
    const now = unixNow(clock);
    const at = startOf(Math.max(0, now - HALF_SAMPLE_S), HEALTH_REPORT_ROW_S);
    const apps = sampler.sample();
    const isUnderWay = this.#samples[0]?.at === at;
    const [ended, current] = isUnderWay ? [[], this.#samples] : [this.#samples, []];
    this.#samples = apps.size > 0 ? [...current, { at, apps }] : current;
    for (const row of combineAppRows(ended, HEALTH_REPORT_ROW_S)) ring.add(row);
    return ended.length > 0;
  }

  /** Returns the rows of the last 48 hours, also that which is under way, in no order. */
  rows(): readonly AppHealthRow[] {
    return [...this.#options.ring.rows(), ...combineAppRows(this.#samples, HEALTH_REPORT_ROW_S)];
  }
}
