import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { HealthRecorder } from "./health-recorder.ts";
import { HealthRing } from "./health-ring.ts";
import { MachineSampler } from "./machine-sampler.ts";

export interface OpenHealthOptions {
  readonly stateDir: string;
  /** `telemetry.health` */
  readonly isEnabled: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The health history of this machine. One that is switched off removes what was recorded, and records nothing. */
export function openHealth({ stateDir, isEnabled, clock, logger }: OpenHealthOptions): HealthRecorder {
  const path = join(stateDir, "health.ring");
  if (!isEnabled) rmSync(path, { force: true });
  const sampler = isEnabled ? new MachineSampler({ directory: stateDir }) : undefined;
  return new HealthRecorder({ sampler, ring: new HealthRing(path), clock, logger });
}
