import type { ReactNode } from "react";
import classes from "./facts.module.css";

interface Props {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}

/** Names and values below each other. */
export function Facts({ facts }: Props): ReactNode {
  return (
    <dl className={classes.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
