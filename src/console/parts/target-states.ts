import type { RolloutState, TargetCounts, TargetState, WaitReason } from "../../protocol/fleets/rollout.ts";
import type { IconName } from "./icon.tsx";

/** A state in words, with what `State` shows beside them. */
export interface StateText {
  readonly label: string;
  readonly kind: "good" | "plain" | "warn" | "bad";
  readonly icon: IconName;
}

/** States of targets in words, in the order in which people look at them: what failed comes first. */
export const TARGET_STATES: Readonly<Record<TargetState, StateText>> = {
  failed: { label: "failed", kind: "bad", icon: "cross" },
  changed_by_hand: { label: "changed by hand", kind: "warn", icon: "alert" },
  lost: { label: "lost", kind: "bad", icon: "alert" },
  refused: { label: "refused", kind: "warn", icon: "alert" },
  waiting: { label: "waiting", kind: "warn", icon: "pause" },
  deploying: { label: "deploying", kind: "plain", icon: "clock" },
  soaking: { label: "soaking", kind: "plain", icon: "clock" },
  pending: { label: "pending", kind: "plain", icon: "clock" },
  deferred: { label: "deferred", kind: "warn", icon: "pause" },
  succeeded: { label: "succeeded", kind: "good", icon: "check" },
  rolled_back: { label: "rolled back", kind: "plain", icon: "info" },
  skipped: { label: "skipped", kind: "plain", icon: "info" },
};

export const TARGET_STATE_NAMES = Object.keys(TARGET_STATES) as readonly TargetState[];

/** States of rollouts in words. */
export const ROLLOUT_STATES: Readonly<Record<RolloutState, StateText>> = {
  draft: { label: "draft", kind: "plain", icon: "info" },
  awaiting_approval: { label: "awaiting approval", kind: "warn", icon: "pause" },
  running: { label: "running", kind: "plain", icon: "clock" },
  paused: { label: "paused", kind: "bad", icon: "pause" },
  succeeded: { label: "succeeded", kind: "good", icon: "check" },
  failed: { label: "failed", kind: "bad", icon: "cross" },
  cancelled: { label: "cancelled", kind: "plain", icon: "cross" },
  superseded: { label: "superseded", kind: "plain", icon: "info" },
  rolling_back: { label: "rolling back", kind: "warn", icon: "alert" },
  rolled_back: { label: "rolled back", kind: "warn", icon: "info" },
};

/** What a target waits for, in words. */
export const WAIT_REASONS: Readonly<Record<WaitReason, string>> = {
  connection: "for its device to connect",
  acceptance: "for its device to be accepted",
  window: "for its window",
  budget: "for its data budget",
  hold: "since it is held",
  conflict: "since another fleet owns an app there",
  variable: "for variables that the revision needs",
  deployment: "for another deployment of the fleet to end",
  clock: "for its device to know the time",
};

/** Formats a number of assets: `1 asset`, `1,200 assets`. */
export function formatAssets(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "asset" : "assets"}`;
}

/** Sums the targets in these states. */
export function countIn(counts: TargetCounts, states: readonly TargetState[]): number {
  return states.reduce((total, state) => total + (counts[state] ?? 0), 0);
}

/** Formats counts without zeros, what failed first: `3 failed, 38 succeeded`. */
export function formatCounts(counts: TargetCounts, states: readonly TargetState[] = TARGET_STATE_NAMES): string {
  return TARGET_STATE_NAMES.filter((state) => states.includes(state) && (counts[state] ?? 0) > 0)
    .map((state) => `${(counts[state] ?? 0).toLocaleString("en")} ${TARGET_STATES[state].label}`)
    .join(", ");
}
