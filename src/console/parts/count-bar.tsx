import type { ReactNode } from "react";
import type { TargetCounts } from "../../protocol/fleets/rollout.ts";
import classes from "./count-bar.module.css";
import { formatCounts, TARGET_STATE_NAMES } from "./target-states.ts";

/** Targets by state: a bar, and the same in numbers below it. */
export function CountBar({ counts }: { readonly counts: TargetCounts }): ReactNode {
  const text = formatCounts(counts);
  return (
    <div className={classes.counts}>
      <svg className={classes.bar} width="100%" height="8" aria-hidden="true">
        <Parts counts={counts} />
      </svg>
      <div className={classes.text}>{text === "" ? "no assets" : text}</div>
    </div>
  );
}

function Parts({ counts }: { readonly counts: TargetCounts }): ReactNode {
  const total = TARGET_STATE_NAMES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  let before = 0;
  return TARGET_STATE_NAMES.map((state) => {
    const share = total === 0 ? 0 : (100 * (counts[state] ?? 0)) / total;
    const x = before;
    before += share;
    return share > 0 && <rect key={state} data-state={state} x={`${x}%`} y="0" width={`${share}%`} height="8" />;
  });
}
