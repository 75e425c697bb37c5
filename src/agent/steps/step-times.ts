import type { Clock } from "../../lib/clock.ts";
import type { DeploymentStep } from "../../protocol/deployments/deployment-event.ts";
import type { DeploymentTimings } from "../../protocol/deployments/deployment-timings.ts";
import { BusyTime, type EngineMeter } from "../engine/engine-meter.ts";

export interface StepTimesOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly engineMeter: EngineMeter;
  /** Whether an earlier run of the agent has begun the deployment. */
  readonly isResumed: boolean;
}

/** Milliseconds. */
interface StepTime {
  readonly ms: number;
  readonly engineMs: number;
}

/** How long the steps of one deployment take. Kept in memory only: not worth a write. */
export class StepTimes {
  readonly #options: StepTimesOptions;
  readonly #begunAt: number;
  readonly #steps = new Map<DeploymentStep, StepTime>();

  constructor(options: StepTimesOptions) {
    this.#options = options;
    this.#begunAt = options.clock.monotonic();
  }

  /** Begins a step, whose name may follow from what it finds out. */
  begin(): Lap {
    return new Lap(this.#options, (step, { ms, engineMs }) => {
      const { ms: before = 0, engineMs: engineBefore = 0 } = this.#steps.get(step) ?? {};
      this.#steps.set(step, { ms: before + ms, engineMs: engineBefore + engineMs });
    });
  }

  /** Returns the times so far; `undefined` if there was no step. */
  report(): DeploymentTimings | undefined {
    if (this.#steps.size === 0) return undefined;
    const { clock, isResumed } = this.#options;
    return {
      total_ms: rounded(clock.monotonic() - this.#begunAt),
      steps: [...this.#steps].map(([step, { ms, engineMs }]) => {
        return { step, ms: rounded(ms), engine_ms: rounded(engineMs) };
      }),
      ...(isResumed && { since_restart: true }),
    };
  }
}

/** A step under way. */
export class Lap {
  readonly #clock: StepTimesOptions["clock"];
  readonly #meter: EngineMeter;
  readonly #busy: BusyTime;
  readonly #add: (step: DeploymentStep, time: StepTime) => void;
  readonly #begunAt: number;

  constructor(
    { clock, engineMeter }: Pick<StepTimesOptions, "clock" | "engineMeter">,
    add: (step: DeploymentStep, time: StepTime) => void,
  ) {
    this.#clock = clock;
    this.#meter = engineMeter;
    this.#busy = new BusyTime(clock);
    this.#add = add;
    this.#begunAt = clock.monotonic();
  }

  /** Runs a part of the step. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#meter.run(this.#busy, work);
  }

  /** Ends the step and returns its time. */
  end(step: DeploymentStep): StepTime {
    const time = { ms: this.#clock.monotonic() - this.#begunAt, engineMs: this.#busy.ms };
    this.#add(step, time);
    return time;
  }
}

/** Tenths of a millisecond: what a fast machine needs for its shortest steps. */
export function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
