import type { SimType } from "../../protocol/assets/sim.ts";
import { type OperatorAccess, servedTypes } from "./operator-access.ts";
import type { OperatorPool } from "./operator-pool.ts";
import type { SimOperator } from "./sim-operator.ts";
import type { SimOperators } from "./sim-operators.ts";

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
