import type { ReactNode } from "react";
import type { RolloutState, TargetState } from "../../protocol/rollout.ts";
import { State } from "./state.tsx";
import { ROLLOUT_STATES, TARGET_STATES } from "./target-states.ts";

/** The state of a rollout, with icon and colour. */
export function RolloutStateLabel({ state }: { readonly state: RolloutState }): ReactNode {
  const { label, kind, icon } = ROLLOUT_STATES[state];
  return (
    <State kind={kind} icon={icon}>
      {label}
    </State>
  );
}

/** The state of a target, with icon and colour. */
export function TargetStateLabel({ state }: { readonly state: TargetState }): ReactNode {
  const { label, kind, icon } = TARGET_STATES[state];
  return (
    <State kind={kind} icon={icon}>
      {label}
    </State>
  );
}
