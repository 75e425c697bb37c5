import type { ReactNode } from "react";
import { Age } from "../../parts/age.tsx";
import classes from "./link-state.module.css";

interface Props {
  readonly connected: boolean;
  /** Unix seconds; `null`: never connected. */
  readonly lastSeen: number | null;
}

/** Whether the device is connected now, and otherwise since when it is not. It is never said by guess. */
export function LinkState({ connected, lastSeen }: Props): ReactNode {
  if (connected)
    return (
      <span className={classes.state} data-kind="connected">
        <span className={classes.dot} aria-hidden="true" />
        connected
      </span>
    );
  if (lastSeen === null)
    return (
      <span className={classes.state} data-kind="never">
        <span className={classes.dot} aria-hidden="true" />
        never connected
      </span>
    );
  return (
    <span className={classes.state} data-kind="away">
      <span className={classes.dot} aria-hidden="true" />
      <span>
        seen <Age at={lastSeen} />
      </span>
    </span>
  );
}
