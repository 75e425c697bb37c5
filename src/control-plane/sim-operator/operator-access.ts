import type { SimType } from "../../protocol/assets/sim.ts";
import type { SuperSimCredentials } from "./super-sim/super-sim-authorization.ts";

/** What is needed to use the API of KORE Wireless for Super SIMs. */
export interface SuperSimAccess {
  readonly url: string;
  readonly credentials: SuperSimCredentials;
}

/** What is needed to use the API of emnify for PRO SIMs. */
export interface EmnifyAccess {
  readonly url: string;
  readonly applicationToken: string;
}

/** The operators that can be used, by type of SIM. */
export interface OperatorAccess {
  readonly supersim?: SuperSimAccess | undefined;
  readonly prosim?: EmnifyAccess | undefined;
}

/** The types of SIM that have an operator. */
export function servedTypes({ supersim, prosim }: OperatorAccess): readonly SimType[] {
  return [...(supersim ? (["supersim"] as const) : []), ...(prosim ? (["prosim"] as const) : [])];
}
