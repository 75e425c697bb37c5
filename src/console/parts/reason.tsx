import type { ReactNode } from "react";
import type { AttentionReason } from "../../protocol/assets/attention.ts";
import { Icon, type IconName } from "./icon.tsx";
import classes from "./reason.module.css";

interface ReasonText {
  readonly label: string;
  /** What to look at. */
  readonly hint: string;
  readonly icon: IconName;
  readonly kind: "warn" | "bad";
}

/** The reasons for attention in words. */
export const REASONS: Readonly<Record<AttentionReason, ReasonText>> = {
  not_seen: { label: "not seen for long", hint: "Check power, link and signal.", icon: "clock", kind: "bad" },
  cloned_identity: {
    label: "two devices, one identity",
    hint: "Another device has a copy of its token: enrol that one by itself.",
    icon: "alert",
    kind: "bad",
  },
  device_replaced: {
    label: "device replaced",
    hint: "Another device took its place with a code. Make sure that it is the right one, and accept it.",
    icon: "alert",
    kind: "bad",
  },
  acceptance: {
    label: "waits for acceptance",
    hint: "Make sure that it is the right device, and accept it: until then fleets do not reach it.",
    icon: "pause",
    kind: "warn",
  },
  app_missing: { label: "app missing", hint: "Its container is gone; see the app.", icon: "cross", kind: "bad" },
  app_stopped: {
    label: "app stopped",
    hint: "It is to run and does not: paused or stopped by another tool, or forbidden by the device's policy; see the app.",
    icon: "cross",
    kind: "bad",
  },
  app_restarting: {
    label: "app restarting",
    hint: "It ends again and again; read its log.",
    icon: "alert",
    kind: "bad",
  },
  app_unhealthy: { label: "app unhealthy", hint: "Its health check fails; read its log.", icon: "alert", kind: "bad" },
  app_not_repaired: {
    label: "app not repaired",
    hint: "Its repair crashed the agent, which pauses; see the app.",
    icon: "cross",
    kind: "bad",
  },
  drifted: {
    label: "drifted",
    hint: "An app of a fleet was changed other than by the fleet, or is not there; see the fleet's members.",
    icon: "alert",
    kind: "warn",
  },
  stopped_by_hand: {
    label: "stopped by hand",
    hint: "A person has stopped an app of a fleet. It stays stopped until a person starts it.",
    icon: "pause",
    kind: "warn",
  },
  deployment_failed: { label: "deployment failed", hint: "See why, and what to do.", icon: "cross", kind: "bad" },
  update_waiting: { label: "update waiting", hint: "It waits for hours or data budget.", icon: "pause", kind: "warn" },
  engine_trouble: {
    label: "engine",
    hint: "Look at the device: its container engine has to be restarted, or cannot remove a container.",
    icon: "alert",
    kind: "bad",
  },
  state_not_writable: {
    label: "disk not writable",
    hint: "Look at the device's disk: edge-agent doctor says what to try.",
    icon: "alert",
    kind: "bad",
  },
  disk_low: { label: "disk low", hint: "Remove volumes or images.", icon: "alert", kind: "warn" },
  clock_wrong: {
    label: "clock wrong",
    hint: "Its time of day is not the service's: nothing sets it, or not the right way; see edge-agent doctor.",
    icon: "clock",
    kind: "warn",
  },
  data_budget_spent: {
    label: "data budget spent",
    hint: "Nothing more is pulled until it renews.",
    icon: "alert",
    kind: "warn",
  },
  data_budget_low: {
    label: "data budget short",
    hint: "Its data budget of the month is spent, or will be before the month ends; edgectl data-usage says by what.",
    icon: "alert",
    kind: "warn",
  },
  data: {
    label: "data plan short",
    hint: "A SIM's monthly allowance is used up, or will be before the month ends.",
    icon: "alert",
    kind: "warn",
  },
};

/** Why an asset needs attention: icon, words and colour. */
export function Reason({ reason }: { readonly reason: AttentionReason }): ReactNode {
  const { label, hint, icon, kind } = REASONS[reason];
  return (
    <span className={classes.reason} data-kind={kind} title={hint}>
      <Icon name={icon} size={14} />
      {label}
    </span>
  );
}
