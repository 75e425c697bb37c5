import type { MemberStateName, MemberWait } from "../../protocol/fleets/fleet-member.ts";
import { type StateText, WAIT_REASONS } from "./target-states.ts";

/** States of the members of fleets in words, in the order in which people look at them. */
export const MEMBER_STATES: Readonly<Record<MemberStateName, StateText>> = {
  drifted: { label: "drifted", kind: "warn", icon: "alert" },
  missing: { label: "missing", kind: "warn", icon: "cross" },
  stopped_by_hand: { label: "stopped by hand", kind: "warn", icon: "pause" },
  conflict: { label: "conflict", kind: "warn", icon: "alert" },
  held: { label: "held", kind: "plain", icon: "pause" },
  outdated: { label: "outdated", kind: "warn", icon: "clock" },
  waiting: { label: "waiting", kind: "plain", icon: "pause" },
  updating: { label: "updating", kind: "plain", icon: "clock" },
  current: { label: "current", kind: "good", icon: "check" },
};

export const MEMBER_STATE_NAMES = Object.keys(MEMBER_STATES) as readonly MemberStateName[];

const OWN_WAITS: Readonly<Partial<Record<MemberWait, string>>> = {
  rollout: "for a rollout",
  variable: "for a variable",
};

/** Returns what a member waits for, in words. */
export function memberWait(waitsFor: MemberWait): string {
  return OWN_WAITS[waitsFor] ?? (WAIT_REASONS as Partial<Record<MemberWait, string>>)[waitsFor] ?? waitsFor;
}

/** Formats counts without zeros: `12 drifted, 1,980 current`. */
export function formatMemberCounts(counts: Partial<Record<MemberStateName, number>>): string {
  return MEMBER_STATE_NAMES.filter((state) => (counts[state] ?? 0) > 0)
    .map((state) => `${(counts[state] ?? 0).toLocaleString("en")} ${MEMBER_STATES[state].label}`)
    .join(", ");
}
