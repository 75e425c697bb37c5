import type { RolloutState } from "./rollout.ts";

/*
 * Without schemas, for the console.
 */

/** States from which nothing follows. */
const FINAL_ROLLOUT_STATES = [
  "succeeded",
  "failed",
  "cancelled",
  "superseded",
  "rolled_back",
] as const satisfies readonly RolloutState[];

export function isRolloutOver({ state }: { readonly state: RolloutState }): boolean {
  return (FINAL_ROLLOUT_STATES as readonly RolloutState[]).includes(state);
}
