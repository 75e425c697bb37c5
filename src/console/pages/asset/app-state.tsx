import type { ReactNode } from "react";
import type { App } from "../../api/types.ts";
import { Icon, type IconName } from "../../parts/icon.tsx";
import classes from "./asset.module.css";

type Kind = "good" | "warn" | "bad" | "none";

const STATES: Readonly<Record<App["state"], { readonly kind: Kind; readonly icon: IconName }>> = {
  running: { kind: "good", icon: "check" },
  stopped: { kind: "none", icon: "pause" },
  restarting: { kind: "bad", icon: "alert" },
  unhealthy: { kind: "bad", icon: "alert" },
  missing: { kind: "bad", icon: "cross" },
};

/** The state of an app by word, icon and colour. */
export function AppState({ state }: { readonly state: App["state"] }): ReactNode {
  const { kind, icon } = STATES[state] ?? { kind: "warn", icon: "alert" };
  return (
    <span className={classes.state} data-kind={kind}>
      <Icon name={icon} size={16} />
      {state}
    </span>
  );
}
