import type { Clock } from "../../lib/clock.ts";
import type { SimType } from "../../protocol/sim.ts";
import { EmnifyOperator } from "./emnify/emnify-operator.ts";
import { type OperatorAccess, servedTypes } from "./operator-access.ts";
import type { SimOperator } from "./sim-operator.ts";
import type { SimOperators } from "./sim-operators.ts";
import { SuperSimOperator } from "./super-sim/super-sim-operator.ts";

/**
 * Opens the operators.
 *
 * @param stored serves the types of SIM that have none
 */
export function openOperators(access: OperatorAccess, stored: SimOperator, clock: Clock): SimOperators {
  const operators: Readonly<Record<SimType, SimOperator>> = {
    supersim: openOperator(access, "supersim", clock) ?? stored,
    prosim: openOperator(access, "prosim", clock) ?? stored,
  };
  return { listServed: async () => servedTypes(access), find: async (_accountId, type) => operators[type] };
}

/** Opens the operator of this type; `undefined` if there is none. */
export function openOperator(
  { supersim, prosim }: OperatorAccess,
  type: SimType,
  clock: Clock,
): SimOperator | undefined {
  if (type === "prosim") return prosim && new EmnifyOperator({ ...prosim, clock });
  return supersim && new SuperSimOperator({ ...supersim, clock });
}
