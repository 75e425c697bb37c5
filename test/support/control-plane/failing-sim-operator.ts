import type {
  ObservedSim,
  OperatorSim,
  SimChanges,
  SimOperator,
} from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SimOperatorError } from "../../../src/control-plane/sim-operator/sim-operator.ts";

/** One call of an operator, such as `deactivate 8988307001000000001`. */
export type OperatorCall = string;

/** Delegates to another operator, except for the calls that are set to fail. */
export class FailingSimOperator implements SimOperator {
  readonly calls: OperatorCall[] = [];
  readonly #actual: SimOperator;
  readonly #failures: { readonly pattern: RegExp; readonly error: Error; times: number }[] = [];
  /** Called before each call is carried out, so that a test can delay it. */
  beforeCall: (call: OperatorCall) => Promise<void> = async () => {};

  constructor(actual: SimOperator) {
    this.#actual = actual;
  }

  get usagePeriod(): SimOperator["usagePeriod"] {
    return this.#actual.usagePeriod;
  }

  /** Makes the next `times` matching calls fail with `error`. */
  fail(pattern: RegExp, times = Infinity, error: Error = new SimOperatorError("the operator says no", false)): void {
    this.#failures.push({ pattern, error, times });
  }

  findSim(sim: OperatorSim, signal: AbortSignal): ReturnType<SimOperator["findSim"]> {
    return this.#call(`findSim ${sim.iccid}`, () => this.#actual.findSim(sim, signal));
  }

  change(sim: OperatorSim, changes: SimChanges, signal: AbortSignal): Promise<ObservedSim> {
    return this.#call(nameOf(sim, changes), () => this.#actual.change(sim, changes, signal));
  }

  check(signal: AbortSignal): ReturnType<SimOperator["check"]> {
    return this.#actual.check(signal);
  }

  readUsage(...args: Parameters<SimOperator["readUsage"]>): ReturnType<SimOperator["readUsage"]> {
    return this.#call(`readUsage ${args[0].iccid}`, () => this.#actual.readUsage(...args));
  }

  async #call<T>(call: OperatorCall, carryOut: () => Promise<T>): Promise<T> {
    this.calls.push(call);
    await this.beforeCall(call);
    const failure = this.#failures.find(({ pattern, times }) => times > 0 && pattern.test(call));
    if (failure) {
      failure.times--;
      throw failure.error;
    }
    return carryOut();
  }
}

function nameOf({ iccid }: OperatorSim, { status, networkGroup }: SimChanges): OperatorCall {
  if (networkGroup !== undefined) return `setNetworkGroup ${iccid} ${networkGroup}`;
  return `${status === "active" ? "activate" : "deactivate"} ${iccid}`;
}
