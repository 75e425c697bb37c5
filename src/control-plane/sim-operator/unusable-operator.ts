import type { SimType } from "../../protocol/assets/sim.ts";
import type { UsagePeriod } from "../core/sims/usage-periods.ts";
import { type CheckLine, type ObservedSim, type SimOperator, SimOperatorError } from "./sim-operator.ts";
import type { UsageTotal } from "../core/usage-view.ts";

/** The operator of an account whose credentials cannot be opened. Every call fails, and none is the service's own account there. */
export class UnusableOperator implements SimOperator {
  readonly usagePeriod: UsagePeriod;
  readonly #cause: Error;

  constructor(type: SimType, cause: Error) {
    this.usagePeriod = type === "supersim" ? "hour" : "day";
    this.#cause = cause;
  }

  async findSim(): Promise<ObservedSim> {
    throw this.#failure();
  }

  async change(): Promise<ObservedSim> {
    throw this.#failure();
  }

  async readUsage(): Promise<readonly UsageTotal[]> {
    throw this.#failure();
  }

  async check(): Promise<readonly CheckLine[]> {
    throw this.#failure();
  }

  #failure(): SimOperatorError {
    return new SimOperatorError(this.#cause.message, false, { cause: this.#cause, failure: "credentials" });
  }
}
