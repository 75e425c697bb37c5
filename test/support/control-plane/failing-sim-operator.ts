import type { OperatorSim, SimOperator } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { SimOperatorError } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import type { SimState } from "../../../src/control-plane/core/asset.ts";

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

  /** Makes the next `times` matching calls fail with `error`. */
  fail(pattern: RegExp, times = Infinity, error: Error = new SimOperatorError("the operator says no", false)): void {
    this.#failures.push({ pattern, error, times });
  }

  activate(sim: OperatorSim, signal: AbortSignal): Promise<SimState> {
    return this.#call(`activate ${sim.iccid}`, () => this.#actual.activate(sim, signal));
  }

  deactivate(sim: OperatorSim, signal: AbortSignal): Promise<SimState> {
    return this.#call(`deactivate ${sim.iccid}`, () => this.#actual.deactivate(sim, signal));
  }

  setNetworkGroup(sim: OperatorSim, networkGroup: string, signal: AbortSignal): Promise<SimState> {
    return this.#call(`setNetworkGroup ${sim.iccid} ${networkGroup}`, () =>
      this.#actual.setNetworkGroup(sim, networkGroup, signal),
    );
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
