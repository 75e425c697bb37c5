import { type Clock, pause, unixNow } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { type DeviceHealth, HEALTH_ROW_S, type HealthParams } from "../../protocol/link/device-health.ts";
import { appPointsOf } from "../../protocol/link/app-health.ts";
import { pointsOf } from "../../protocol/link/health-points.ts";
import { HEALTH_REPORT_ROW_S } from "../../protocol/link/health-rows.ts";
import { type HealthSample, spreadsOf } from "../core/health/health-row.ts";
import type { AppRecorder } from "./app-recorder.ts";
import type { HealthReports } from "./health-reports.ts";
import type { HealthRing } from "./health-ring.ts";

const SAMPLE_INTERVAL_MS = 60_000;
const SAMPLES_PER_ROW = (HEALTH_ROW_S * 1_000) / SAMPLE_INTERVAL_MS;

export interface HealthRecorderOptions {
  /** `undefined`: nothing is recorded. */
  readonly sampler: { sample(): HealthSample } | undefined;
  /** Asked once for each row. */
  readonly modem?: { read(signal: AbortSignal): Promise<HealthSample | undefined> };
  /** Records what the apps use. */
  readonly apps?: Pick<AppRecorder, "sample" | "rows"> | undefined;
  readonly ring: Pick<HealthRing, "add" | "rows">;
  /** What is sent of it. */
  readonly reports?: HealthReports | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Samples the machine every minute, and keeps five samples as one row. */
export class HealthRecorder {
  readonly #options: HealthRecorderOptions;
  /** What could not be written the last time. */
  readonly #failing = new Set<"machine" | "apps">();

  constructor(options: HealthRecorderOptions) {
    this.#options = options;
  }

  get reports(): HealthReports | undefined {
    return this.#options.reports;
  }

  /** Runs until the signal aborts. Never rejects. What was sampled since the last row is lost then. */
  async run(signal: AbortSignal): Promise<void> {
    const { sampler, modem, apps, clock } = this.#options;
    if (!sampler) return;
    // The processors' use is measured from here on.
    sampler.sample();
    if (apps) this.#write("apps", () => apps.sample());
    let samples: HealthSample[] = [];
    while (!signal.aborted) {
      await pause(clock, SAMPLE_INTERVAL_MS, signal);
      if (signal.aborted) return;
      samples.push(sampler.sample());
      if (apps) this.#write("apps", () => apps.sample());
      if (samples.length < SAMPLES_PER_ROW) continue;
      const heard = await modem?.read(signal);
      this.#keep(heard ? [...samples, heard] : samples);
      samples = [];
    }
  }

  /** Answers the query `health`. */
  between(params: HealthParams): DeviceHealth {
    const { ring, apps } = this.#options;
    return {
      ...pointsOf(ring.rows(), params, HEALTH_ROW_S),
      ...(params.apps && apps && { apps: appPointsOf(apps.rows(), params, HEALTH_REPORT_ROW_S) }),
    };
  }

  #keep(samples: readonly HealthSample[]): void {
    const { ring, reports, clock } = this.#options;
    const row = { at: unixNow(clock), spreads: spreadsOf(samples) };
    this.#write("machine", () => {
      ring.add(row);
      return true;
    });
    reports?.onRow(row);
  }

  /** @param work returns whether it has written anything */
  #write(of: "machine" | "apps", work: () => boolean): void {
    try {
      if (work()) this.#failing.delete(of);
    } catch (error) {
      // Said once: a disk that cannot be written fails every five minutes.
      if (this.#failing.size === 0)
        this.#options.logger.warn(
          { reason: errorText(error) },
          "the health history cannot be written; it has a gap until it can",
        );
      this.#failing.add(of);
    }
  }
}
