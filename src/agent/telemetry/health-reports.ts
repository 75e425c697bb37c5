import { type Clock, unixNow } from "../../lib/clock.ts";
import { HEALTH_KEPT_S, REPORTED_HEALTH_METRICS } from "../../protocol/link/device-health.ts";
import { APP_REPORT_ROW_S, type AppHealthRow, combineAppRows, MAX_ROW_APPS } from "../../protocol/link/app-health.ts";
import { boundApps } from "../../protocol/link/app-health-rows.ts";
import type { HealthMessageWriter } from "../../protocol/link/health-message.ts";
import { combineRows, type HealthRow, type HealthSpreads, startOf } from "../../protocol/link/health-points.ts";
import { HEALTH_REPORT_ROW_S, MAX_HEALTH_ROWS } from "../../protocol/link/health-rows.ts";
import { type HealthThresholds, MAX_THRESHOLD_S } from "../../protocol/link/health-thresholds.ts";
import { exceeded } from "../core/health/exceeded.ts";

const DAY_MS = 86_400_000;
/** Messages a day that are sent before their time, whatever the service says. */
export const MAX_EARLY_A_DAY = 4;
/** Rows are judged that are not older: what was sent last, and what a threshold looks at before that. */
const JUDGED_S = 2 * MAX_THRESHOLD_S;
/** Part of the interval for which a message waits for other traffic. */
const WAITING_PART = 1 / 4;

export interface HealthReportsOptions {
  readonly ring: { rows(): readonly HealthRow[] };
  readonly apps: { rows(): readonly AppHealthRow[] };
  /** Messages a day. */
  readonly perDay: number;
  readonly clock: Clock;
  readonly random: () => number;
}

/**
 * What the device sends of how it was, out of the ring: a few messages a day, whatever the link does. What a session loses goes
 * with a later message, since the service says in the next session what it has. When it begins or ceases to exceed a threshold, the
 * message is due at once; the next one follows an interval later. The service says which thresholds; how many messages a day, the
 * device.
 */
export class HealthReports {
  readonly #options: HealthReportsOptions;
  readonly #intervalMs: number;
  #earliestMs: number;
  #isEarly = false;
  readonly #earlyAtMs: number[] = [];
  readonly #listeners = new Set<() => void>();
  /** Rows by which thresholds are judged; `undefined` until the first one since the start. */
  #recent: readonly HealthRow[] | undefined;
  /** What the service has said; `undefined`: the defaults hold. */
  #thresholds: HealthThresholds | undefined;
  /** Start of the newest row that was sent in this session, or that the service has. */
  #sentAt: number | undefined;

  constructor(options: HealthReportsOptions) {
    this.#options = options;
    this.#intervalMs = DAY_MS / options.perDay;
    // Random, so that a fleet whose power is back does not send at once.
    this.#earliestMs = options.clock.monotonic() + options.random() * WAITING_PART * this.#intervalMs;
  }

  /** When the next message may be sent beside other traffic, and when without any, in monotonic milliseconds. */
  get due(): { readonly earliestMs: number; readonly latestMs: number } {
    const waitingMs = this.#isEarly ? 0 : WAITING_PART * this.#intervalMs;
    return { earliestMs: this.#earliestMs, latestMs: this.#earliestMs + waitingMs };
  }

  /** Calls `listener` when a message is due before its time, until disposed. */
  onEarly(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** A session has begun. */
  begin(confirmedAt: number | undefined, thresholds: HealthThresholds | undefined): void {
    this.#sentAt = confirmedAt;
    this.#thresholds = thresholds;
  }

  /** The service says other thresholds. They are applied to the next row. */
  setThresholds(thresholds: HealthThresholds | undefined): void {
    this.#thresholds = thresholds;
  }

  /** There is a new row in the ring. */
  onRow(row: HealthRow): void {
    if (!this.#hasNews(row) || this.#isEarly) return;
    const now = this.#options.clock.monotonic();
    while ((this.#earlyAtMs[0] ?? now) <= now - DAY_MS) this.#earlyAtMs.shift();
    if (this.#earlyAtMs.length >= MAX_EARLY_A_DAY) return;
    this.#earlyAtMs.push(now);
    this.#isEarly = true;
    this.#earliestMs = Math.min(this.#earliestMs, now);
    for (const listener of this.#listeners) listener();
  }

  /** Whether thresholds are exceeded that were not at the end of what was sent, or the reverse. */
  #hasNews(row: HealthRow): boolean {
    // What was before a restart is in the ring.
    const before = this.#recent ?? this.#options.ring.rows();
    this.#recent = [...before.filter(({ at }) => at < row.at && at >= row.at - JUDGED_S), row];
    const current = startOf(row.at, HEALTH_REPORT_ROW_S);
    const rows = combineRows(
      this.#recent.filter(({ at }) => at < current),
      HEALTH_REPORT_ROW_S,
    );
    const sent = rows.filter(({ at }) => at <= (this.#sentAt ?? -1));
    const [now, told] = [exceeded(rows, this.#thresholds), exceeded(sent, this.#thresholds)];
    return now.size !== told.size || [...now].some((each) => !told.has(each));
  }

  /** Returns the message that is due, with the rows after this time, if there are any. */
  take(
    afterAt: number | undefined,
    writer: HealthMessageWriter,
  ): { readonly bytes: Uint8Array; readonly newestAt: number } | undefined {
    const { ring, clock } = this.#options;
    const now = unixNow(clock);
    const from = Math.max(afterAt === undefined ? 0 : afterAt + HEALTH_REPORT_ROW_S, now - HEALTH_KEPT_S);
    // A row is sent when nothing more comes to it.
    const complete = Math.floor(now / HEALTH_REPORT_ROW_S) * HEALTH_REPORT_ROW_S;
    const found = ring
      .rows()
      .filter(({ at }) => at >= from && at < complete)
      .map(({ at, spreads }) => ({ at, spreads: reported(spreads) }));
    // The oldest first; the rest goes with the next message.
    const rows = combineRows(found, HEALTH_REPORT_ROW_S).slice(0, MAX_HEALTH_ROWS);
    const newest = rows.at(-1);
    this.#earliestMs = clock.monotonic() + (newest ? 1 : WAITING_PART) * this.#intervalMs;
    this.#isEarly = false;
    if (!newest) return undefined;
    this.#sentAt = newest.at;
    const apps = this.#appsBetween(afterAt, newest.at).filter(({ at }) => at >= now - HEALTH_KEPT_S);
    return { bytes: writer.write({ rows, apps }), newestAt: newest.at };
  }

  /** Returns the hours whose last row of 15 minutes is after the first time, and not after the last one. */
  #appsBetween(afterAt: number | undefined, newestAt: number): readonly AppHealthRow[] {
    const hours = combineAppRows(this.#options.apps.rows(), APP_REPORT_ROW_S);
    const sent = hours.filter(({ at }) => {
      const lastAt = at + APP_REPORT_ROW_S - HEALTH_REPORT_ROW_S;
      return lastAt > (afterAt ?? -1) && lastAt <= newestAt;
    });
    return boundApps(sent, MAX_ROW_APPS);
  }
}

function reported(spreads: HealthSpreads): HealthSpreads {
  return Object.fromEntries(
    REPORTED_HEALTH_METRICS.flatMap((metric) => (spreads[metric] ? [[metric, spreads[metric]]] : [])),
  );
}
