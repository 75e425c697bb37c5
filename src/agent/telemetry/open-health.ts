import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { AppRecorder } from "./app-recorder.ts";
import { AppRing } from "./app-ring.ts";
import { AppSampler, type AppSamplerOptions } from "./app-sampler.ts";
import { HealthRecorder, type HealthRecorderOptions } from "./health-recorder.ts";
import { HealthReports } from "./health-reports.ts";
import { HealthRing } from "./health-ring.ts";
import { MachineSampler } from "./machine-sampler.ts";

export interface OpenHealthOptions {
  readonly config: {
    readonly state_dir: string;
    readonly telemetry: { readonly health: boolean; readonly health_reports_per_day: number };
  };
  readonly modem: HealthRecorderOptions["modem"] & object;
  readonly store: { readonly apps: AppSamplerOptions["apps"] };
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/** The health history of this machine. One that is switched off removes what was recorded, and records nothing. */
export function openHealth({ config, modem, store, clock, random, logger }: OpenHealthOptions): HealthRecorder {
  const { state_dir: stateDir, telemetry } = config;
  const path = join(stateDir, "health.ring");
  const appPath = join(stateDir, "apps.ring");
  const ring = new HealthRing(path);
  if (!telemetry.health) {
    for (const each of [path, appPath]) rmSync(each, { force: true });
    return new HealthRecorder({ sampler: undefined, ring, clock, logger });
  }
  const perDay = telemetry.health_reports_per_day;
  const recorder = new AppRecorder({
    sampler: new AppSampler({ apps: () => store.apps(), clock }),
    ring: new AppRing(appPath),
    clock,
  });
  const reports = perDay > 0 ? new HealthReports({ ring, apps: recorder, perDay, clock, random }) : undefined;
  const sampler = new MachineSampler({ directory: stateDir });
  return new HealthRecorder({ sampler, modem, apps: recorder, ring, reports, clock, logger });
}
