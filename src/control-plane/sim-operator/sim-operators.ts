import { SIM_TYPES, type SimType } from "../../protocol/assets/sim.ts";
import type { SimOperator } from "./sim-operator.ts";
import { type OperatorAccess, servedTypes } from "./operator-access.ts";
import type { OperatorPool } from "./operator-pool.ts";

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

/**
 * Opens the service's operators.
 *
 * @param stored serves the types of SIM that have none
 */
export function openOperators(access: OperatorAccess, stored: SimOperator, pool: OperatorPool): SimOperators {
  const operators: Readonly<Record<SimType, SimOperator>> = {
    supersim: pool.open(access, "supersim") ?? stored,
    prosim: pool.open(access, "prosim") ?? stored,
  };
  return { listServed: async () => servedTypes(access), find: async (_accountId, type) => operators[type] };
}
