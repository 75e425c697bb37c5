import type { RolloutState, WaitingReason, WaitReason } from "../../../protocol/rollout.ts";
import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import type { TargetCount } from "./changes.ts";
import { countTargets, isUnfinished } from "./counts.ts";
import { NEEDS_PEOPLE } from "./obstacle.ts";
import { awaitsAdvance } from "./progress.ts";
import type { Rollout } from "./rollout.ts";

/** Something that a rollout, or some of its targets, wait for. */
export interface Waiting {
  readonly for: WaitingReason;
  /** Number of targets that wait for it. */
  readonly count: number;
  /** Since when the first of them does. */
  readonly sinceMs?: number | undefined;
  /** When the first of them is looked at again at the latest. */
  readonly untilMs?: number | undefined;
  /** What is in the way there, for people. */
  readonly message?: string | undefined;
}

/** What targets wait for, as the store groups them. */
export interface TargetWait extends Waiting {
  readonly for: WaitReason;
}

/** The command with which people let a rollout in this state go on. */
const COMMANDS: Readonly<Partial<Record<RolloutState, WaitingReason>>> = {
  draft: "start",
  awaiting_approval: "approval",
  paused: "resume",
};

type Standing = Pick<Rollout, "state" | "wave" | "advanceTo" | "strategy">;

/**
 * Returns what a rollout waits for: first a command of people, then what its targets wait for. One that is over waits for
 * nothing.
 *
 * @param waits of its targets, with times; by default from the counts
 */
export function waitingOf(
  rollout: Standing,
  counts: readonly TargetCount[],
  waits: readonly TargetWait[] = waitsOf(counts),
): readonly Waiting[] {
  if (isRolloutOver(rollout)) return [];
  const command = commandNeeded(rollout, counts);
  const notBegun = countTargets(counts, ({ state }) => state === "pending" || state === "waiting");
  return [...(command ? [{ for: command, count: notBegun }] : []), ...waits];
}

/** Whether nothing more happens, apart from the end of what is under way, before people do something. */
export function waitsForPeople(rollout: Standing, counts: readonly TargetCount[]): boolean {
  if (isRolloutOver(rollout)) return false;
  if (commandNeeded(rollout, counts)) return true;
  const open = counts.filter((group) => group.count > 0 && isUnfinished(group));
  return open.length > 0 && open.every(({ waitsFor }) => waitsFor !== undefined && NEEDS_PEOPLE.has(waitsFor));
}

function commandNeeded(rollout: Standing, counts: readonly TargetCount[]): WaitingReason | undefined {
  if (rollout.state === "running") return awaitsAdvance(rollout, counts) ? "advance" : undefined;
  return COMMANDS[rollout.state];
}

function waitsOf(counts: readonly TargetCount[]): readonly TargetWait[] {
  const groups = Map.groupBy(counts, ({ state, waitsFor }) => (state === "waiting" ? waitsFor : undefined));
  return [...groups].flatMap(([waitsFor, all]) => {
    const count = countTargets(all, () => true);
    return waitsFor === undefined || count === 0 ? [] : [{ for: waitsFor, count }];
  });
}
