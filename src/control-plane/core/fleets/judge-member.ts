import type { MemberStateName, MemberWait } from "../../../protocol/fleets/fleet-member.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import type { RolloutState, TargetState, WaitReason } from "../../../protocol/fleets/rollout.ts";
import { compareDevice, describeDifferences, type Difference, findDown } from "./judge.ts";
import type { ReportFacts, TargetFacts } from "./target-decision.ts";
import { type Fleet, fleetMark, type Goal } from "./fleet.ts";
import type { Direction } from "./rollout.ts";

/*
 * The one judgement of a fleet's members. Members' lists, counts, events, attention, metrics, reapply and repair read what it returns.
 */

/** Differences that are kept of one member. */
const MAX_DIFFERENCES = 10;

/** What a member's state is judged from, at one moment. */
export interface MemberFacts extends Pick<
  TargetFacts,
  "isConnected" | "lastSeenAtMs" | "agentVersion" | "heldUntilMs" | "unacceptedSinceMs" | "conflicts"
> {
  /** Why people want it left alone, as they have said. */
  readonly holdReason?: string | undefined;
  readonly report: Pick<ReportFacts, "apps" | "removals" | "atMs"> | undefined;
  /** Its targets in the rollouts and the upkeep of the fleet that a coordinator looks after, the oldest first. */
  readonly targets: readonly MemberTarget[];
  /** The revision that it was last seen running as a whole; `undefined`: none. */
  readonly revision: number | undefined;
  readonly variableNames: ReadonlySet<string>;
}

/** A target of the member, with what its rollout brings. */
export interface MemberTarget {
  readonly kind: "rollout" | "upkeep";
  readonly rolloutState: RolloutState;
  readonly revision: number;
  readonly direction: Direction;
  readonly state: TargetState;
  readonly waitsFor: WaitReason | undefined;
  readonly dueMs: number | undefined;
  readonly message: string | undefined;
}

/** A goal, with the variables that an asset needs for it. */
export interface MemberGoal {
  readonly goal: Goal;
  readonly variables: readonly string[];
}

/** What the fleet's members are judged by. */
export interface MemberScope {
  readonly fleet: Pick<Fleet, "name" | "stableRevision">;
  /** Returns what a revision of the fleet says; `undefined` if it is not on record any more. */
  readonly goalOf: (revision: number) => MemberGoal | undefined;
}

/** How a member is. Times are Unix milliseconds. */
export interface Judgement {
  readonly state: MemberStateName;
  /** Since when it is so, as far as is known. */
  readonly sinceMs: number;
  /** With `waiting`. */
  readonly waitsFor: MemberWait | undefined;
  /** With `waiting` and `held`: until when, where that is known. */
  readonly untilMs: number | undefined;
  /** What is the matter, for people. */
  readonly message: string | undefined;
  /** How its apps differ from the revision that it is to run. */
  readonly differences: readonly Difference[];
  /** The revision that it was last seen running as a whole; `undefined`: none. */
  readonly revision: number | undefined;
}

type Found = Partial<Pick<Judgement, "waitsFor" | "untilMs" | "message" | "revision">> & {
  readonly state: MemberStateName;
};

/**
 * Judges how a member of a fleet is, from what its device reports. Depends on nothing but its arguments.
 *
 * What people did comes first: a deployment under way, then a hold, then another fleet's ownership. After that its apps decide: what
 * was stopped before what was changed, so that nothing is repaired against a stop by hand, and what was changed before what is not there.
 *
 * @param before the judgement so far: a state that stays keeps its `sinceMs`
 */
export function judgeMember(
  { fleet, goalOf }: MemberScope,
  facts: MemberFacts,
  before: (Pick<Judgement, "state" | "sinceMs"> & Partial<Pick<Judgement, "differences">>) | undefined,
  nowMs: number,
): Judgement {
  const wanted = wantedRevision(fleet, facts.targets) ?? broughtRevision(fleet, facts.report);
  const wantedGoal = wanted === undefined ? undefined : goalOf(wanted);
  const differences = wantedGoal ? datedDifferences(wantedGoal, facts, before?.differences) : [];
  const kept = differences.slice(0, MAX_DIFFERENCES);
  const found = findState({ fleet, goalOf }, facts, wantedGoal, differences, nowMs);
  const isSame = before?.state === found.state;
  return {
    waitsFor: undefined,
    untilMs: undefined,
    message: undefined,
    revision: facts.revision,
    ...found,
    sinceMs: isSame ? before.sinceMs : Math.min(changedAtMs(found.state, differences) ?? nowMs, nowMs),
    differences: kept,
  };
}

/** Where the device does not know since when an app differs, that is when the service was told of it first. */
function datedDifferences(
  { goal }: MemberGoal,
  { report, agentVersion }: Pick<MemberFacts, "report" | "agentVersion">,
  before: readonly Difference[] = [],
): readonly Difference[] {
  if (!report) return [];
  const dateOf = ({ app, kind }: Difference): number =>
    before.find((known) => known.app === app && known.kind === kind)?.sinceMs ?? report.atMs;
  return compareDevice(goal, report, agentVersion).map((difference) =>
    // What another revision has brought is dated by its rollout.
    difference.sinceMs === undefined && difference.kind !== "revision"
      ? withDate(difference, dateOf(difference))
      : difference,
  );
}

function withDate(difference: Difference, sinceMs: number): Difference {
  return { ...difference, sinceMs };
}

/** When the judgement may become another one although nothing happens; `undefined`: never. */
export function judgeAgainMs({ state, untilMs }: Pick<Judgement, "state" | "untilMs">): number | undefined {
  return state === "held" ? untilMs : undefined;
}

/**
 * Returns the revision that the member is to run: that of the rollout under way where it has arrived there, otherwise the stable one.
 */
function wantedRevision(
  { stableRevision }: Pick<Fleet, "stableRevision">,
  targets: readonly MemberTarget[],
): number | undefined {
  const arrived = targets.findLast(
    ({ kind, rolloutState, direction, state }) =>
      kind === "rollout" &&
      !isRolloutOver({ state: rolloutState }) &&
      rolloutState !== "rolling_back" &&
      direction === "forward" &&
      (state === "succeeded" || state === "changed_by_hand"),
  );
  return arrived?.revision ?? stableRevision;
}

/**
 * Returns the newest revision that its apps are from, where none is to be there: before the first rollout has succeeded, what people do
 * to an app is told all the same.
 */
function broughtRevision({ name }: Pick<Fleet, "name">, report: MemberFacts["report"]): number | undefined {
  const marks = (report?.apps ?? []).flatMap((app) => fleetMark(app) ?? []);
  const revisions = marks.flatMap((mark) => (mark.name === name ? [mark.revision] : []));
  return revisions.length === 0 ? undefined : Math.max(...revisions);
}

/** Whether people have stopped or changed an app. */
function areByHand(differences: readonly Difference[]): boolean {
  return differences.some(({ kind }) => kind === "stopped" || kind === "changed");
}

function findState(
  { fleet, goalOf }: MemberScope,
  facts: MemberFacts,
  wanted: MemberGoal | undefined,
  differences: readonly Difference[],
  nowMs: number,
): Found {
  const told = differences.length === 0 ? undefined : describeDifferences(differences.slice(0, MAX_DIFFERENCES));
  const { heldUntilMs, holdReason, conflicts, targets, report } = facts;
  const underWay = findUnderWay(targets);
  if (underWay) return underWay;
  if (heldUntilMs !== undefined && heldUntilMs > nowMs) {
    const untilMs = Number.isFinite(heldUntilMs) ? heldUntilMs : undefined;
    const reason = holdReason === undefined ? undefined : `Held: ${holdReason.replace(/\.$/, "")}.`;
    const message = [reason, told].filter((part) => part !== undefined).join(" ");
    return { state: "held", untilMs, message: message === "" ? undefined : message };
  }
  const [conflict] = conflicts;
  if (conflict) {
    const message = `The app ${conflict.app} on this asset belongs to the fleet ${conflict.fleet}.`;
    return { state: "conflict", message };
  }
  if (!report || !wanted) return waiting(facts, wanted);
  const isStable = wantedRevision(fleet, targets) !== undefined;
  // The agent is there anyway, so that of a revision without apps nothing has to be brought first.
  const isBrought =
    facts.revision !== undefined ||
    report.apps.some((app) => fleetMark(app)?.name === fleet.name) ||
    (wanted.goal.agent !== undefined && wanted.goal.apps.length === 0);
  // Nothing reaches a device that an operator has not accepted, and what was brought before may have been brought to another one.
  const mustBeAccepted = facts.unacceptedSinceMs !== undefined && differences.length > 0;
  if (!isBrought || mustBeAccepted) return waiting(facts, wanted);
  if (!isStable && !areByHand(differences)) return waiting(facts, undefined);
  if (differences.length === 0) return current(wanted, report);
  const has = (...kinds: readonly Difference["kind"][]) => differences.some(({ kind }) => kinds.includes(kind));
  const message = told;
  if (has("stopped")) return { state: "stopped_by_hand", message };
  if (has("changed")) return { state: "drifted", message };
  const other = otherRevision(fleet.name, goalOf, facts, differences);
  if (other !== undefined) return behind(facts, wanted, other);
  if (has("differs")) return { state: "drifted", message };
  if (has("revision")) return behind(facts, wanted, undefined, message);
  if (has("missing")) return { state: "missing", message };
  // Of the agent itself: people have gone back there, or it refuses the release.
  return behind(facts, wanted, undefined, message);
}

/** It is what it is to be. An app that is not up is the device's matter, or the attention's, and named all the same. */
function current(wanted: MemberGoal, report: NonNullable<MemberFacts["report"]>): Found {
  return { state: "current", revision: wanted.goal.revision, message: downText(wanted, report) };
}

function downText({ goal }: MemberGoal, report: MemberFacts["report"]): string | undefined {
  const down = findDown(goal, report?.apps ?? []);
  return down && `${down.name} is ${down.state}.`;
}

/** A deployment of the fleet that is under way there, or whose apps have to stay up. */
function findUnderWay(targets: readonly MemberTarget[]): Found | undefined {
  const isUnderWay = ({ state }: MemberTarget) => state === "deploying" || state === "soaking";
  const target = targets.findLast(isUnderWay);
  if (target) return { state: "updating", message: target.message };
  const putOff = targets.findLast(({ state, waitsFor }) => state === "waiting" && waitsFor === "budget");
  return putOff && { state: "waiting", waitsFor: "budget", untilMs: putOff.dueMs, message: putOff.message };
}

/**
 * Returns the revision other than the wanted one that its apps are from, all of them and unchanged: as their marks say, or for a
 * device that does not know fleets, as a comparison with the revision says that it was last seen running.
 */
function otherRevision(
  fleet: string,
  goalOf: MemberScope["goalOf"],
  { report, revision, agentVersion }: MemberFacts,
  differences: readonly Difference[],
): number | undefined {
  const marked = differences.find(({ kind }) => kind === "revision");
  const mark = marked && report?.apps.find(({ name }) => name === marked.app)?.fleet;
  const candidate = mark?.name === fleet ? mark.revision : revision;
  const goal = candidate === undefined ? undefined : goalOf(candidate)?.goal;
  return goal && report && compareDevice(goal, report, agentVersion).length === 0 ? candidate : undefined;
}

/** It runs another revision. Waits if one is about to be brought there. */
function behind(facts: MemberFacts, wanted: MemberGoal, revision: number | undefined, told?: string): Found {
  const runs = revision === undefined ? {} : { revision };
  if (openTarget(facts.targets)) return { ...waiting(facts, wanted), ...runs };
  const down = downText(wanted, facts.report);
  const message = [told ?? `It runs revision ${revision}.`, down].filter((part) => part !== undefined).join(" ");
  return { state: "outdated", message, ...runs };
}

/** The target by which a revision is to be brought there: of the newest rollout before the upkeep's. */
function openTarget(targets: readonly MemberTarget[]): MemberTarget | undefined {
  const open = targets.filter(({ rolloutState, state }) => {
    if (state === "pending" || state === "waiting") return true;
    return (state === "deferred" || state === "lost") && !isRolloutOver({ state: rolloutState });
  });
  return open.findLast(({ kind }) => kind === "rollout") ?? open.at(-1);
}

function waiting(facts: MemberFacts, wanted: MemberGoal | undefined): Found {
  const target = openTarget(facts.targets);
  if (target?.waitsFor !== undefined) {
    const { waitsFor, dueMs: untilMs, message } = target;
    // Away devices are looked at when they are given up, which is not what ends the wait.
    return { state: "waiting", waitsFor, message, untilMs: waitsFor === "window" ? untilMs : undefined };
  }
  if (!facts.isConnected) {
    const message =
      facts.lastSeenAtMs === undefined ? "The device has never connected." : "The device is not connected.";
    return { state: "waiting", waitsFor: "connection", message };
  }
  if (facts.unacceptedSinceMs !== undefined)
    return { state: "waiting", waitsFor: "acceptance", message: "The device is not accepted yet." };
  const missing = wanted?.variables.filter((name) => !facts.variableNames.has(name)) ?? [];
  if (missing.length > 0)
    return { state: "waiting", waitsFor: "variable", message: `The asset lacks variables: ${missing.join(", ")}.` };
  const message = wanted ? undefined : "No revision of the fleet is stable yet.";
  return { state: "waiting", waitsFor: "rollout", message: (target && turnText(target)) ?? message };
}

const WAITS_FOR_PEOPLE: Readonly<Partial<Record<RolloutState, string>>> = {
  draft: "is not started yet",
  awaiting_approval: "awaits approval",
  paused: "is paused",
};

/** The message of a member whose turn in a rollout has not come; `undefined` without one. */
function turnText({ kind, rolloutState, direction, revision, message }: MemberTarget): string | undefined {
  if (message !== undefined || kind === "upkeep") return message;
  if (direction === "back") return `The rollout of revision ${revision} goes back; its turn has not come yet.`;
  const why = WAITS_FOR_PEOPLE[rolloutState];
  return why === undefined
    ? `Its turn in the rollout of revision ${revision} has not come yet.`
    : `The rollout of revision ${revision} ${why}.`;
}

/** The differences that bring a state about. */
const KINDS_OF: Readonly<Partial<Record<MemberStateName, readonly Difference["kind"][]>>> = {
  stopped_by_hand: ["stopped"],
  drifted: ["changed", "differs"],
  missing: ["missing"],
};

/** When people brought the state about, as far as is known. */
function changedAtMs(state: MemberStateName, differences: readonly Difference[]): number | undefined {
  const kinds = KINDS_OF[state] ?? [];
  const times = differences.flatMap(({ kind, sinceMs }) =>
    kinds.includes(kind) && sinceMs !== undefined ? [sinceMs] : [],
  );
  return times.length === 0 ? undefined : Math.min(...times);
}
