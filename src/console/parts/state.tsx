import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";
import classes from "./state.module.css";
import type { RolloutState, TargetState } from "../../protocol/fleets/rollout.ts";
import { ROLLOUT_STATES, TARGET_STATES } from "./target-states.ts";

interface Props {
  readonly kind: "good" | "plain" | "warn" | "bad";
  readonly icon: IconName;
  readonly children: ReactNode;
  readonly title?: string;
}

/** A state in words, with an icon and a colour. */
export function State({ kind, icon, children, title }: Props): ReactNode {
  return (
    <span className={classes.state} data-kind={kind} title={title}>
      <Icon name={icon} size={15} />
      <span>{children}</span>
    </span>
  );
}

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
