import { formatTime } from "../../lib/terminal/time.ts";
import type { Counts, Foreseen, RetryPlan, Rollout, Waiting } from "../api/rollouts.ts";

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

/** What each reason is called after a number of assets. */
const WAITS: Readonly<Record<string, string>> = {
  connection: "offline",
  acceptance: "not accepted",
  window: "for their window",
  budget: "for their data budget",
  hold: "held",
  conflict: "in conflict",
  variable: "without variables",
  clock: "without a time zone",
  deployment: "with another deployment",
};

/** What people have to do, and the command for it. */
const COMMANDS_NEEDED: Readonly<Record<string, readonly [string, string]>> = {
  start: ["for its start", "resume"],
  approval: ["for the approval of another person", "approve"],
  advance: ["for a person to let the next wave begin", "advance"],
  resume: ["for a person to let it go on", "resume"],
};

/** Such as `for a person to let it go on; 1 held (until 2026-11-30 12:00 UTC), 1 offline since …`; empty: for nothing. */
export function waitingText(waiting: readonly Waiting[]): string {
  const commands = waiting.flatMap((each) => COMMANDS_NEEDED[each.for]?.[0] ?? []);
  const targets = waiting.filter((each) => COMMANDS_NEEDED[each.for] === undefined).map(waitText);
  return [...commands, ...(targets.length > 0 ? [targets.join(", ")] : [])].join("; ");
}

function waitText({ for: reason, count, since, until, message }: Waiting): string {
  const from = reason === "connection" && since !== undefined && since > 0 ? ` since ${formatTime(since)} UTC` : "";
  const end = until === undefined ? "" : `until ${formatTime(until)} UTC at the latest`;
  const details = [end, message ?? ""].filter((text) => text !== "").join("; ");
  return `${count} ${WAITS[reason] ?? reason}${from}${details === "" ? "" : ` (${details})`}`;
}

/** The command with which people let a rollout go on that waits for one. */
export function neededCommand(waiting: readonly Waiting[]): string | undefined {
  return waiting.flatMap((each) => COMMANDS_NEEDED[each.for]?.[1] ?? [])[0];
}

/** What is known of a rollout before it begins, as sentences after the numbers of its assets; empty: nothing is in the way. */
export function foreseenText({ waiting_for: waiting, refused, left, joined }: Foreseen): string {
  return [
    ...(waiting.length > 0 ? [`Waiting as things are now: ${waitingText(waiting)}.`] : []),
    ...(refused > 0 ? [`${assets(refused)} cannot get it: the agent is too old.`] : []),
    ...(left > 0 ? [`${assets(left)} left the fleet since it was planned.`] : []),
    ...(joined > 0 ? [`${assets(joined)} joined since then, and come in the last wave.`] : []),
  ].join(" ");
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
    const left = sum(counts, NOT_BEGUN);
    return `Goes on with ${assets(left)} that ${left === 1 ? "has" : "have"} not begun, whatever has failed: ${countsText(counts)}.`;
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

/** Says what a retry takes, and what it leaves out. */
export function retryText({
  revision,
  assets: count,
  current,
  left,
  superseded,
  under_way: underWay,
}: RetryPlan): string {
  return [
    underWay === null
      ? `Brings revision ${revision} to the ${assets(count)} that failed or refused it.`
      : `Its retry is under way already: ${underWay}.`,
    ...(current > 0 ? [`${assets(current)} of those that failed ${current === 1 ? "runs" : "run"} it by now.`] : []),
    ...(left > 0 ? [`${assets(left)} of those that failed left the fleet.`] : []),
    ...(superseded ? [`Supersedes the rollout of revision ${superseded.revision}, which is ${superseded.state}.`] : []),
  ].join(" ");
}

/** Says on how many assets a rollout starts. */
export function startText({
  revision,
  targets,
  waves,
}: Pick<Rollout, "revision" | "targets"> & { readonly waves: readonly { readonly targets: number }[] }): string {
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
