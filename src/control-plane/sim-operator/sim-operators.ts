import type { SimType } from "../../protocol/sim.ts";
import type { SimOperator } from "./sim-operator.ts";

/** The operator that serves each type of SIM of an account. */
export interface SimOperators {
  /** Always the same object for the same account and type, as long as its credentials are the same. */
  find(accountId: string, type: SimType): Promise<SimOperator>;
}

/** One operator for everything. */
export function soleOperator(operator: SimOperator): SimOperators {
  return { find: async () => operator };
}
