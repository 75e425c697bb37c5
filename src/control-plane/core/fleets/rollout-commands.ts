import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { RolloutState, WaitingReason, WaitReason } from "../../../protocol/fleets/rollout.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { waveCount } from "../../../protocol/fleets/rollout-strategy.ts";
import type { Rollout, RolloutFields, TargetCount } from "./rollout.ts";
import { awaitsAdvance, countFailures, countTargets, isUnfinished } from "./progress.ts";
import { isSamePerson, type Person } from "./fleet.ts";
import { NEEDS_PEOPLE } from "./decide-begin.ts";

/** What a person's command does to a rollout. */
export type CommandOutcome =
  | { readonly kind: "change"; readonly fields: RolloutFields }
  /** It is so already. */
  | { readonly kind: "unchanged" }
  /** `RolloutStateConflict`, or `ApprovalBySameUser`. */
  | { readonly kind: "refused"; readonly error: EdgeError };

type State = Pick<Rollout, "id" | "state">;

const UNCHANGED: CommandOutcome = { kind: "unchanged" };

/** Returns the first state of a rollout when it is to start: it waits for approval where the strategy says so. */
export function startFields(
  { strategy, approvedBy }: Pick<Rollout, "strategy" | "approvedBy">,
  nowMs: number,
): RolloutFields {
  if (strategy.requires_approval && approvedBy === undefined) return { state: "awaiting_approval" };
  return { state: "running", wave: 0, startedAtMs: nowMs, waveEnteredAtMs: nowMs, reason: undefined };
}

/** Nothing begins any more until it is resumed. Deployments under way end, and targets go on soaking. */
export function pause(rollout: State, reason: string, person: Person): CommandOutcome {
  if (rollout.state === "paused") return UNCHANGED;
  return rollout.state === "running"
    ? change({ state: "paused", reason, stoppedBy: person })
    : refused(rollout, "be paused");
}

/**
 * Starts a draft, or lets a paused rollout go on. What has failed so far does not stop it again.
 *
 * @param counts of its targets now
 */
export function resume(
  rollout: State & Pick<Rollout, "strategy" | "approvedBy">,
  counts: readonly TargetCount[],
  nowMs: number,
): CommandOutcome {
  if (rollout.state === "running") return UNCHANGED;
  if (rollout.state === "draft") return change(startFields(rollout, nowMs));
  if (rollout.state !== "paused") return refused(rollout, "be resumed");
  return change({ state: "running", reason: undefined, stoppedBy: undefined, acceptedFailures: countFailures(counts) });
}

/**
 * Lets the next wave begin once nothing of this one is under way. A paused rollout has to be resumed as well.
 *
 * @param toWave the wave to begin, from 0, so that a repeated command begins no later one; `undefined`: the next one
 */
export function advance(
  rollout: State & Pick<Rollout, "wave" | "advanceTo" | "strategy">,
  toWave?: number,
): CommandOutcome {
  const next = rollout.wave + 1;
  if (toWave !== undefined && toWave < next) return UNCHANGED;
  if (toWave !== undefined && toWave > next) return refused(rollout, "be advanced", {}, `is in wave ${next}`);
  const isOpen = rollout.state === "running" || rollout.state === "paused";
  if (!isOpen || next >= waveCount(rollout.strategy)) {
    return refused(rollout, "be advanced", {}, isOpen ? "is in its last wave" : undefined);
  }
  return rollout.advanceTo === next ? UNCHANGED : change({ advanceTo: next });
}

/** Starts a rollout that awaits approval. Error: `ApprovalBySameUser` for who made it, with whatever credential. */
export function approve(
  rollout: State & Pick<Rollout, "strategy" | "createdBy">,
  person: Person,
  nowMs: number,
): CommandOutcome {
  if (rollout.state !== "awaiting_approval") return refused(rollout, "be approved");
  if (isSamePerson(person, rollout.createdBy)) {
    return { kind: "refused", error: new EdgeError("ApprovalBySameUser", undefined, { rollout_id: rollout.id }) };
  }
  return change({ ...startFields({ ...rollout, approvedBy: person }, nowMs), approvedBy: person });
}

/** Ends it as it is. Deployments under way end, and nothing goes back. */
export function cancel(rollout: State, reason: string, nowMs: number): CommandOutcome {
  if (rollout.state === "cancelled") return UNCHANGED;
  if (isRolloutOver(rollout) || rollout.state === "rolling_back") return refused(rollout, "be cancelled");
  return change({ state: "cancelled", reason, finishedAtMs: nowMs });
}

/** Goes back on every asset that was attempted. */
export function rollBack(
  rollout: State & Pick<Rollout, "revision" | "previousRevision">,
  reason: string,
  person: Person,
): CommandOutcome {
  if (rollout.state === "rolling_back" || rollout.state === "rolled_back") return UNCHANGED;
  if (rollout.revision === rollout.previousRevision)
    return refused(rollout, "go back", {}, "brings the stable revision");
  const mayGoBack = rollout.state === "running" || rollout.state === "paused";
  if (mayGoBack) return change({ state: "rolling_back", reason, stoppedBy: person });
  // What was before can still be brought, by another rollout.
  const { previousRevision } = rollout;
  return refused(rollout, "be rolled back", previousRevision !== undefined && { previous_revision: previousRevision });
}

/** A newer rollout of the fleet takes its place. `undefined`: it is over, or goes back, which ends first. */
export function supersede(rollout: State, revision: number, nowMs: number): RolloutFields | undefined {
  if (isRolloutOver(rollout) || rollout.state === "rolling_back") return undefined;
  const reason = `Superseded by the rollout of revision ${revision}.`;
  return { state: "superseded", reason, finishedAtMs: nowMs };
}

function change(fields: RolloutFields): CommandOutcome {
  return { kind: "change", fields };
}

const WORDS: Readonly<Partial<Record<RolloutState, string>>> = {
  draft: "is a draft",
  awaiting_approval: "awaits approval",
  rolling_back: "is going back",
  rolled_back: "was rolled back",
  superseded: "was superseded",
  cancelled: "was cancelled",
};

function refused({ id, state }: State, what: string, more: object | false = {}, reason?: string): CommandOutcome {
  const why = reason ?? WORDS[state] ?? (isRolloutOver({ state }) ? `has ${state}` : `is ${state}`);
  const error = new EdgeError("RolloutStateConflict", `The rollout ${why} and cannot ${what}.`, {
    rollout_id: id,
    state,
    ...more,
  });
  return { kind: "refused", error };
}

/** Something that a rollout, or some of its targets, wait for. */
export interface RolloutWait {
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
export interface TargetWait extends RolloutWait {
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
): readonly RolloutWait[] {
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
