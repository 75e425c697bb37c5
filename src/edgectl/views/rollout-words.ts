import type { Counts, Rollout } from "../api/rollouts.ts";

/** States of targets in the order in which they are told. */
const ORDER = [
  "succeeded",
  "failed",
  "changed_by_hand",
  "lost",
  "refused",
  "deploying",
  "soaking",
  "waiting",
  "pending",
  "deferred",
  "skipped",
  "rolled_back",
];

/** States of targets whose device was, or is being, changed. */
const ATTEMPTED = ["succeeded", "failed", "changed_by_hand", "lost", "deploying", "soaking"];
const UNDER_WAY = ["deploying", "soaking"];
const NOT_BEGUN = ["pending", "waiting", "deferred"];

/** Such as `38 succeeded, 3 failed`; those that this version does not know come last. */
export function countsText(counts: Counts, states?: readonly string[]): string {
  const known = [...ORDER, ...Object.keys(counts).filter((state) => !ORDER.includes(state))];
  const parts = known
    .filter((state) => (counts[state] ?? 0) > 0 && (states === undefined || states.includes(state)))
    .map((state) => `${counts[state]} ${state.replaceAll("_", " ")}`);
  return parts.join(", ") || "none";
}

export function assets(count: number): string {
  return count === 1 ? "1 asset" : `${count} assets`;
}

function sum(counts: Counts, states: readonly string[]): number {
  return states.reduce((total, state) => total + (counts[state] ?? 0), 0);
}

/** What each command does to a rollout, in numbers, for the question before it. */
export const EFFECTS: Readonly<Record<string, (rollout: Rollout) => string>> = {
  pause: ({ counts }) => `Nothing begins any more on ${assets(sum(counts, NOT_BEGUN))}; ${underWayText(counts)}.`,
  resume: (rollout) => {
    const { state, counts } = rollout;
    if (state === "draft") return startText(rollout);
    return `Goes on with ${assets(sum(counts, NOT_BEGUN))} that have not begun, whatever has failed: ${countsText(counts)}.`;
  },
  advance: ({ wave, waves }) => {
    const next = waves.find((each) => each.wave === wave + 1);
    return next
      ? `Wave ${next.wave} of ${waves.length} begins on ${assets(next.targets)} once nothing of wave ${wave} is under way.`
      : `Wave ${wave} is the last one.`;
  },
  approve: (rollout) => startText(rollout),
  cancel: ({ counts }) =>
    `${assets(sum(counts, NOT_BEGUN))} not begun: skipped; ${underWayText(counts)}; nothing goes back: ${countsText(counts)}.`,
  rollback: ({ counts, previous_revision: previous }) => {
    const what = previous === null ? "Removes the new apps again" : `Goes back to revision ${previous}`;
    return `${what} on ${assets(sum(counts, ATTEMPTED))}: ${countsText(counts, ATTEMPTED)}.`;
  },
};

/** Says on how many assets a rollout starts. */
export function startText({ revision, targets, waves }: Pick<Rollout, "revision" | "targets" | "waves">): string {
  const sizes = waves.map((wave) => wave.targets).join(", ");
  const inWaves = waves.length > 1 ? `, in ${waves.length} waves (${sizes})` : "";
  return `Brings revision ${revision} to ${assets(targets)}${inWaves}.`;
}

function underWayText(counts: Counts): string {
  const count = sum(counts, UNDER_WAY);
  return count === 0
    ? "nothing is under way"
    : `${assets(count)} under way: ${count === 1 ? "it ends" : "they end"} first`;
}
