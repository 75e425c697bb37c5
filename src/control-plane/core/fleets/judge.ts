import type { AppReport } from "../../../protocol/app-report.ts";
import type { AppliedApp } from "../../../protocol/apply.ts";
import { compareApps, type Difference } from "./compare-app.ts";
import type { ReportFacts, TargetFacts } from "./facts.ts";
import type { Goal } from "./goal.ts";

/** What a device runs, compared with what it is to run. */
export type Verdict =
  /** Every app runs as specified. Since then all of them have been up, Unix milliseconds. */
  | { readonly kind: "as_specified"; readonly upSinceMs: number }
  | NotUp
  /** An app is another one, was stopped by a person, is not there, or is there although it is not to be. */
  | { readonly kind: "drifted"; readonly what: string; readonly differences: readonly Difference[] }
  /** The last report does not tell. */
  | { readonly kind: "unknown"; readonly why: string };

/** The apps are as specified, and not all of them are up. */
export interface NotUp {
  readonly kind: "not_up";
  readonly why: string;
  /** What it is called if it stays so. */
  readonly code: "CrashLoopBackOff" | "Unhealthy";
  /** An app ends again and again. */
  readonly isCrashing: boolean;
  /** The device holds later reports back, and this one does not show yet that the app has ended several times. */
  readonly isUnsure: boolean;
}

/**
 * Time after a deployment in which a connected device reports what has changed, or that it holds changes back, counted from the
 * begin of its connection if that is later. A device whose apps were as specified before reports nothing.
 */
export const REPORT_GRACE_MS = 60_000;

/** Judges what a device runs by its last report. */
export function judge(
  goal: Goal,
  { report, deployment, connectedSinceMs }: Pick<TargetFacts, "report" | "deployment" | "connectedSinceMs">,
  nowMs: number,
): Verdict {
  if (report === undefined) return { kind: "unknown", why: "The device has not reported its apps." };
  const endedAtMs = deployment?.finishedAtMs;
  if (report.heldSinceMs !== undefined) {
    // An app in a crash loop is the usual reason, which the report before has told then.
    const isOfIt = endedAtMs === undefined || isSince(goal, report, deployment?.id, endedAtMs);
    const told = isOfIt && compareApps(goal, report).length === 0 ? judgeUp(goal, report, endedAtMs) : undefined;
    if (told?.kind === "not_up") return { ...told, isUnsure: !hasEndedOften(report.apps), why: `${told.why} ${HELD}` };
    return { kind: "unknown", why: HELD };
  }
  if (endedAtMs !== undefined && !isSince(goal, report, deployment?.id, endedAtMs)) {
    const hasReported = nowMs >= Math.max(endedAtMs, connectedSinceMs ?? Infinity) + REPORT_GRACE_MS;
    if (!hasReported) return { kind: "unknown", why: "The device has not reported its apps since the deployment." };
  }
  const differences = compareApps(goal, report);
  if (differences.length > 0) return { kind: "drifted", what: describe(differences), differences };
  return judgeUp(goal, report, endedAtMs);
}

/**
 * Whether the report is from after the deployment. A device that knows fleets says which deployment its apps are from. For others
 * the time decides, in whole seconds, as reports have it: one that was received in the second in which the deployment ended counts.
 * Should it be from before the end, the device reports again what has changed.
 */
function isSince(
  goal: Goal,
  { apps, atMs }: ReportFacts,
  deploymentId: string | undefined,
  endedAtMs: number,
): boolean {
  return isOfDeployment(goal, apps, deploymentId) || atMs + 1_000 > endedAtMs;
}

/** Whether the device says that all apps of the goal are from this deployment, whatever happened to them since. */
export function isOfDeployment(goal: Goal, apps: readonly AppReport[], deploymentId: string | undefined): boolean {
  const wanted = goal.apps.flatMap((entry) => ("absent" in entry ? [] : [entry.app.name]));
  const marked = apps.filter(({ name, fleet }) => wanted.includes(name) && fleet?.deployment_id === deploymentId);
  return wanted.length > 0 && marked.length === wanted.length;
}

/** Returns the differences as a sentence: `web was stopped; db is not there.` */
export function describe(differences: readonly Difference[]): string {
  return `${differences.map(({ what }) => what).join("; ")}.`;
}

/** Whether people have made all of these differences since the deployment: they say nothing about its revision. */
export function areByHand(differences: readonly Difference[]): boolean {
  return differences.every(({ kind }) => kind === "stopped" || kind === "missing" || kind === "changed");
}

/** Restarts that one end of an app does not explain. */
const MANY_RESTARTS = 3;

function hasEndedOften(apps: readonly AppReport[]): boolean {
  return apps.some(({ state, restarts }) => state === "restarting" && (restarts ?? 0) >= MANY_RESTARTS);
}

const HELD = "The device holds its next report back, since its apps change often.";

/** Returns the first app of the goal that the device reports and that is not up; `undefined` if all are. */
export function findDown(goal: Goal, apps: readonly AppReport[]): AppReport | undefined {
  return goal.apps.flatMap((entry) => {
    const found = "absent" in entry ? undefined : apps.find(({ name }) => name === entry.app.name);
    return "absent" in entry || found === undefined || isUp(entry.app, found) ? [] : [found];
  })[0];
}

function judgeUp(goal: Goal, report: ReportFacts, endedAtMs: number | undefined): Verdict {
  const down = findDown(goal, report.apps);
  if (down) {
    return {
      kind: "not_up",
      why: describeDown(down),
      code: down.state === "unhealthy" ? "Unhealthy" : "CrashLoopBackOff",
      isCrashing: down.state === "restarting",
      isUnsure: false,
    };
  }
  // Up since the end of the deployment or the start of its last app, whichever is later. A time after the report's receipt is not believed.
  const sinceMs = [Math.min(endedAtMs ?? 0, report.atMs)];
  for (const entry of goal.apps) {
    if ("absent" in entry) continue;
    const found = report.apps.find(({ name }) => name === entry.app.name);
    if (found === undefined) continue;
    sinceMs.push(Math.min(found.since === null ? report.atMs : found.since * 1000, report.atMs));
  }
  return { kind: "as_specified", upSinceMs: Math.max(...sinceMs) };
}

/** An app that may end by itself is as it should be after that, too. */
function isUp({ restart_policy: policy }: AppliedApp, { state }: AppReport): boolean {
  return state === "running" || (state === "stopped" && (policy === "no" || policy === "on-failure"));
}

/** Such as `web is restarting: 4 restarts, exit code 137 (out of memory).` */
function describeDown({ name, state, restarts, last_exit: exit }: AppReport): string {
  const told = [
    ...(state === "restarting" && restarts ? [`${restarts} ${restarts === 1 ? "restart" : "restarts"}`] : []),
    ...(exit ? [`exit code ${exit.code}${exit.out_of_memory ? " (out of memory)" : ""}`] : []),
  ];
  return `${name} is ${state}${told.length > 0 ? `: ${told.join(", ")}` : ""}.`;
}
