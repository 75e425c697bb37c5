import type { DeploymentRecord } from "../records.ts";
import type { Step } from "../deployment/step.ts";

/** How far the deployment of an app may go: it parks before the first step that its phase does not permit. */
export type GroupPhase = "resolve" | "pull" | "run";

/** The deployment of one app of a group. */
export interface GroupChild {
  readonly record: DeploymentRecord;
  /** The phase it was last told to go to by this process; `undefined`: it was not begun yet. */
  readonly phase: GroupPhase | undefined;
  /** Whether it works: it has neither ended nor parked. */
  readonly isActive: boolean;
  /** Whether its app was started, or did not have to be. Lost with a restart, and found out again. */
  readonly isStarted: boolean;
}

export type GroupAction =
  /** Begins or continues the deployment of an app. */
  | { readonly kind: "advance"; readonly id: string; readonly phase: GroupPhase }
  /** All apps are resolved: the changes and their cost are known, and are either accepted or refused. */
  | { readonly kind: "accept" }
  /** The group fails with the failure of this app. */
  | { readonly kind: "fail"; readonly id: string }
  | { readonly kind: "cancel"; readonly id: string }
  /** Undoes the deployment of an app that has succeeded. */
  | { readonly kind: "restore"; readonly id: string }
  /** Nothing is left to do. */
  | { readonly kind: "end" };

/** Maximum number of apps of a group that are worked on at once. */
export const MAX_PARALLEL_APPS = 4;

/**
 * Returns what to do next for a group; nothing while something has to end first. Phases: resolve all images, then pull
 * all, then remove apps, then change the others, each after those it depends on. Until all images are there no app is
 * touched. After a failure, what is in progress is cancelled; what has succeeded is undone in reverse order. The decision
 * is based on the records, not on the last action, so it is the same after a power cut.
 */
export function nextGroupActions(group: DeploymentRecord, children: readonly GroupChild[]): GroupAction[] {
  if (group.outcome !== "pending") return [];
  if (group.failure) return nextActionsBack(group, children);
  const failed = children.find(({ record }) => record.outcome === "failed");
  // A dry run changes nothing: it says what is wrong with each app.
  if (failed && !group.options.dry_run) return [{ kind: "fail", id: failed.record.id }];
  const open = children.filter(isOpen);
  const changes = open.filter(({ record }) => record.action !== "remove");
  const advance = (candidates: readonly GroupChild[], phase: GroupPhase): GroupAction[] => {
    const free = Math.max(0, MAX_PARALLEL_APPS - open.filter(({ isActive }) => isActive).length);
    return candidates.slice(0, free).map(({ record }) => ({ kind: "advance", id: record.id, phase }));
  };
  const isBefore = (phases: readonly (GroupPhase | undefined)[]) =>
    changes.filter((child) => phases.includes(child.phase));
  if (!group.checked) {
    const unresolved = isBefore([undefined]);
    if (unresolved.length > 0) return advance(unresolved, "resolve");
    if (changes.some(({ isActive }) => isActive)) return [];
    return [failed ? { kind: "fail", id: failed.record.id } : { kind: "accept" }];
  }
  const unpulled = isBefore([undefined, "resolve"]);
  if (unpulled.length > 0) return advance(unpulled, "pull");
  if (changes.some(({ phase, isActive }) => phase === "pull" && isActive)) return [];
  const removals = open.filter(({ record }) => record.action === "remove");
  if (removals.length > 0) {
    return advance(
      removals.filter(({ phase }) => phase !== "run"),
      "run",
    );
  }
  if (open.length === 0) return [{ kind: "end" }];
  return advance(
    changes.filter((child) => child.phase === "pull" && isReady(child, children)),
    "run",
  );
}

/** What is in progress goes back first, then what has succeeded, the last one first, one after another. */
function nextActionsBack(group: DeploymentRecord, children: readonly GroupChild[]): GroupAction[] {
  const open = children.filter(isOpen);
  if (open.length > 0) {
    return open.flatMap(({ record: { id, failure }, isActive }): GroupAction[] => {
      if (!failure) return [{ kind: "cancel", id }];
      return isActive ? [] : [{ kind: "advance", id, phase: "run" }];
    });
  }
  const last = keepsChanges(group) ? undefined : children.findLast(isChanged);
  return [last ? { kind: "restore", id: last.record.id } : { kind: "end" }];
}

/** Whether the apps that were changed before the failure stay so. A cancelled group goes back in any case. */
function keepsChanges({ apply, failure }: DeploymentRecord): boolean {
  return apply?.onFailure === "keep" && failure?.code !== "DeploymentCancelled";
}

/** Whether the app is another one now than before the group. */
export function isChanged({ record: { outcome, result } }: Pick<GroupChild, "record">): boolean {
  return outcome === "succeeded" && result !== "unchanged";
}

function isOpen({ record }: GroupChild): boolean {
  return record.outcome === "pending";
}

function isReady({ record }: GroupChild, children: readonly GroupChild[]): boolean {
  return (record.group?.dependsOn ?? []).every(({ app, condition }) => {
    const other = children.find((child) => child.record.app === app);
    if (!other || other.record.outcome === "succeeded") return true;
    return condition === "started" && other.isStarted;
  });
}

/**
 * Whether the deployment of an app may take this step in this phase of its group. Before the last one nothing may change
 * what is on the device, except that images are added. A deployment that has failed may always go back.
 */
export function isPermitted(step: Step, phase: GroupPhase, { failure }: Pick<DeploymentRecord, "failure">): boolean {
  if (phase === "run" || failure) return true;
  if (step.kind === "succeed") return step.result === "unchanged";
  const first = FIRST_PHASES[step.kind];
  return first === "resolve" || first === phase;
}

/** The first phase of a group in which the deployment of an app takes a step. */
const FIRST_PHASES: Readonly<Record<Exclude<Step["kind"], "succeed">, GroupPhase>> = {
  check: "resolve",
  resolve: "resolve",
  fail: "resolve",
  fetch: "pull",
  pull: "pull",
  create: "run",
  switch: "run",
  try: "run",
  rename: "run",
  stop: "run",
  start: "run",
  connect: "run",
  verify: "run",
  clean: "run",
  report_cost: "run",
  commit: "run",
  revert: "run",
};
