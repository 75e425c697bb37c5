import type { ReactNode } from "react";
import { barParts, planState, type UsedAllowance } from "./allowance-words.ts";
import classes from "./sims.module.css";

/** The use of an allowance and the forecast. The words beside it say the same: it is hidden from screen readers. */
export function AllowanceBar({ allowance }: { readonly allowance: UsedAllowance }): ReactNode {
  const { used, expected, limit } = barParts(allowance);
  return (
    <svg className={classes.bar} width="100%" height="14" aria-hidden="true" data-state={planState(allowance)}>
      <rect className={classes.track} x="0" y="3" width="100%" height="8" rx="4" />
      <rect className={classes.used} x="0" y="3" width={`${used}%`} height="8" />
      <rect className={classes.expected} x={`${used}%`} y="3" width={`${expected}%`} height="8" />
      {limit < 100 && <rect className={classes.limit} x={`${limit}%`} y="0" width="2" height="14" />}
    </svg>
  );
}
