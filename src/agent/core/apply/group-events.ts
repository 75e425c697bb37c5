import type { ApplyVerdict, PlannedChange } from "../../../protocol/apps/apply.ts";
import { type EventContent, isFinal } from "../../../protocol/deployments/deployment-event.ts";
import { errorEntry } from "../../../protocol/errors/errors.ts";
import type { DeploymentRecord, Failure } from "../records.ts";
import { formatSize } from "../text.ts";
import { isChanged } from "./next-group-actions.ts";

/**
 * Converts events of one app's deployment to events of its group, which ends with an event of its own. The end of a
 * deployment that was cancelled before it did anything is left out.
 */
export function toGroupEvents(record: DeploymentRecord, events: readonly EventContent[]): EventContent[] {
  return events.flatMap((event): EventContent[] => {
    const { app } = record;
    if (!isFinal(event)) return [{ ...event, app }];
    if (event.status === "Success") return [{ ...event, status: "Running", app }];
    if (wasIdle(record)) return [];
    const { code, details, ...rest } = event;
    return [{ ...rest, status: "Running", app, details: { ...details, code } }];
  });
}

function wasIdle({ failure, touched, checked, imageId, madeDirectories, options }: DeploymentRecord): boolean {
  const mayHaveCreated = checked && imageId !== undefined && !options.dry_run;
  return failure?.code === "DeploymentCancelled" && !touched && !mayHaveCreated && madeDirectories === undefined;
}

type Children = readonly DeploymentRecord[];

/**
 * Returns the failure of a group whose app has failed.
 *
 * @param notInRequest installed apps of the project that the request does not name, and that stay
 */
export function groupFailure({ app, failure }: DeploymentRecord, notInRequest: readonly string[] = []): Failure {
  const unknown: Failure = { code: "Internal", message: errorEntry("Internal").message, step: "done" };
  const { code, message, details, step } = failure ?? unknown;
  // Some failures name the app that is in the way, such as the one that writes to a volume.
  const other = details?.["app"];
  const named = other !== undefined && other !== app ? { ...details, other_app: other } : details;
  const isLeft = typeof other === "string" && notInRequest.includes(other);
  const advice = isLeft ? ` ${other} is of the same project and not in the request: prune removes it first.` : "";
  return { code, message: `App ${app}: ${message}${advice}`, step, details: { ...named, app } };
}

/** Returns the failure of a dry run: that of the first app, with those of all others. @param notInRequest as for one app */
export function dryRunFailure(children: Children, notInRequest: readonly string[]): Failure | undefined {
  const failed = children.filter(({ failure }) => failure !== undefined);
  const [first, ...others] = failed.map((record) => groupFailure(record, notInRequest));
  if (!first || others.length === 0) return first;
  const message = [first, ...others].map((failure) => failure.message).join(" ");
  const failures = [first, ...others].map(({ code, message: text, details }) => {
    return { app: details?.["app"], code, message: text };
  });
  return { ...first, message, details: { ...first.details, failures } };
}

/** Why the deployment of an app of a failed group is cancelled or undone. */
export function cancelledWith({ app, failure }: DeploymentRecord): Failure {
  const cause = failure?.details?.["app"];
  const reason =
    typeof cause === "string" ? `the app ${cause} failed` : "the deployment was cancelled, refused or given up";
  return { code: "DeploymentCancelled", message: `The apps of ${app} go back: ${reason}.`, step: "done" };
}

/** Returns the final event of a group that was applied. */
export function appliedEvent({ app: project }: DeploymentRecord, children: Children): EventContent {
  const found = verdict(children);
  const { changed, removed, unchanged } = found;
  const details = { changed, removed, unchanged };
  if (changed.length === 0 && removed.length === 0) {
    const all = `the ${apps(unchanged.length)} of ${project} ${unchanged.length === 1 ? "is" : "are"} as asked for already`;
    const message = `Nothing to change: ${unchanged.length === 0 ? "what is to be removed is not installed" : all}.`;
    return { status: "Success", step: "done", message, details };
  }
  const counts = [
    ...(changed.length > 0 ? [`${changed.length} changed`] : []),
    ...(removed.length > 0 ? [`${removed.length} removed`] : []),
    ...(unchanged.length > 0 ? [`${unchanged.length} unchanged`] : []),
  ];
  return { status: "Success", step: "done", message: `${project} is applied: ${counts.join(", ")}.`, details };
}

/** Returns the final event of a group that failed: what went wrong, and what became of its apps. */
export function failedGroupEvent(failure: Failure, children: Children): EventContent {
  const { code, message, step } = failure;
  const entry = errorEntry(code);
  const found = verdict(children);
  const note = backText(found);
  const lists = Object.entries(found).filter(([, value]) => value.length > 0);
  return {
    status: "Fail",
    step,
    code,
    // The specification fixes some messages.
    message: entry.fixedMessage ? entry.message : `${message}${/[.!?…]$/.test(message) ? "" : "."} ${note}`,
    details: { ...failure.details, ...Object.fromEntries(lists), ...(entry.fixedMessage && { note }) },
  };
}

function backText({ changed, removed, restored, not_restored: lost }: Verdict): string {
  const kept = [...changed, ...removed];
  const parts = [
    ...(kept.length > 0 ? [`Stays changed, as asked for: ${kept.join(", ")}.`] : []),
    ...(restored.length > 0 ? [`As before again: ${restored.join(", ")}.`] : []),
    ...(lost.length > 0 ? [`Could not be brought back, and the agent goes on trying: ${lost.join(", ")}.`] : []),
  ];
  return parts.length > 0 ? parts.join(" ") : "No app was changed.";
}

type Verdict = Omit<ApplyVerdict, "app">;

const isDone = (record: DeploymentRecord): boolean => isChanged({ record });

function verdict(children: Children): Verdict {
  const names = (select: (record: DeploymentRecord) => boolean) => children.filter(select).map(({ app }) => app);
  return {
    changed: names((record) => isDone(record) && record.action !== "remove"),
    removed: names((record) => isDone(record) && record.action === "remove"),
    unchanged: names(({ outcome, result }) => outcome === "succeeded" && result === "unchanged"),
    restored: names((record) => wentBack(record) && !record.rollbackFailure),
    not_restored: names((record) => wentBack(record) && record.rollbackFailure !== undefined),
  };
}

/** Whether something of it had been changed. */
function wentBack({ outcome, touched, rollbackFailure, result }: DeploymentRecord): boolean {
  const hadSucceeded = result !== undefined && result !== "unchanged";
  return outcome === "failed" && (touched || hadSucceeded || rollbackFailure !== undefined);
}

interface PlanFacts {
  readonly hash: string;
  readonly downloadBytes: number;
  /** Installed apps of the project that the request does not name, and that stay. */
  readonly notInRequest: readonly string[];
}

/** Maximum number of apps that an event names beside those of the request. */
const MAX_NAMED_APPS = 20;

/** Returns the final event of a dry run. */
export function planEvent(
  project: string,
  plan: readonly PlannedChange[],
  { hash, downloadBytes: bytes, notInRequest }: PlanFacts,
): EventContent {
  const count = (change: PlannedChange["change"]) => plan.filter((planned) => planned.change === change).length;
  const words = { create: "create", update: "update", remove: "remove" } as const;
  const counts = Object.entries(words).flatMap(([change, verb]) => {
    const number = count(change as PlannedChange["change"]);
    return number > 0 ? [`${verb} ${apps(number)}`] : [];
  });
  const what = counts.length > 0 ? counts.join(", ") : "change nothing";
  const cost = bytes > 0 ? `download ${formatSize(bytes)}` : "download nothing";
  return {
    status: "Success",
    step: "done",
    message: `Nothing was changed. Applying ${project} would ${what}, and ${cost}.${stayText(notInRequest)}`,
    details: {
      dry_run: true,
      plan,
      plan_hash: hash,
      download_bytes: bytes,
      ...(notInRequest.length > 0 && { not_in_request: shorten(notInRequest) }),
    },
  };
}

function stayText(apps: readonly string[]): string {
  return apps.length === 0 ? "" : ` Not in the request, and left as they are: ${shorten(apps).join(", ")}.`;
}

function shorten(apps: readonly string[]): string[] {
  const omitted = apps.length - MAX_NAMED_APPS;
  return omitted > 0 ? [...apps.slice(0, MAX_NAMED_APPS), `${omitted} more`] : [...apps];
}

function apps(count: number): string {
  return count === 1 ? "1 app" : `${count} apps`;
}
