import type { SimType } from "../../protocol/assets/sim.ts";
import { SIM_TYPES } from "./sim-types.ts";
import type { SimOperator } from "./sim-operator.ts";

/** The operator that serves each type of SIM of an account. */
export interface SimOperators {
  /** Returns the types that some operator serves for some account; the SIMs of the others are stored only. */
  listServed(): Promise<readonly SimType[]>;
  /** Always the same object for the same account and type, as long as its credentials are the same. */
  find(accountId: string, type: SimType): Promise<SimOperator>;
}

/** One operator for everything. */
export function soleOperator(operator: SimOperator, isStored = true): SimOperators {
  return { listServed: async () => (isStored ? [] : SIM_TYPES), find: async () => operator };
}
