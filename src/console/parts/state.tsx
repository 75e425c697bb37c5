import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";
import classes from "./state.module.css";

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
