import { AGENT_APP } from "../../../protocol/agents/agent-update.ts";
import type { AppReport } from "../../../protocol/apps/app-report.ts";
import type { AppliedApp } from "../../../protocol/apps/apply.ts";
import type { ReportFacts, TargetFacts } from "./target-decision.ts";
import { fleetMark, type Goal, nameOf } from "./fleet.ts";
import { needsAgent } from "./required-agent.ts";
import { compareSpec } from "./compare-apps.ts";

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
  {
    report,
    deployment,
    connectedSinceMs,
    agentVersion,
  }: Pick<TargetFacts, "report" | "deployment" | "connectedSinceMs" | "agentVersion">,
  nowMs: number,
): Verdict {
  // What the device says of its agent is known with its connection, and needs no report.
  const agent = compareAgent(goal, agentVersion);
  if (goal.apps.length === 0 && goal.agent !== undefined) {
    if (agent) return { kind: "drifted", what: describeDifferences([agent]), differences: [agent] };
    return { kind: "as_specified", upSinceMs: Math.min(deployment?.finishedAtMs ?? connectedSinceMs ?? nowMs, nowMs) };
  }
  if (report === undefined) return { kind: "unknown", why: "The device has not reported its apps." };
  // An update of the agent touches no app.
  const endedAtMs = deployment?.action === "update_agent" ? undefined : deployment?.finishedAtMs;
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
  const differences = compareDevice(goal, report, agentVersion);
  if (differences.length > 0) return { kind: "drifted", what: describeDifferences(differences), differences };
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
export function describeDifferences(differences: readonly Difference[]): string {
  return `${differences.map(({ what }) => what).join("; ")}.`;
}

/** An agent that was confirmed becomes an older one by people only, such as with a pin. */
const BY_HAND: ReadonlySet<Difference["kind"]> = new Set(["stopped", "missing", "changed", "agent"]);

/** Whether people have made all of these differences since the deployment: they say nothing about its revision. */
export function areByHand(differences: readonly Difference[]): boolean {
  return differences.every(({ kind }) => BY_HAND.has(kind));
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

/** An app that may end by itself is as it should be after that, too; but not where a failure counts, after one. */
function isUp({ restart_policy: policy }: AppliedApp, { state, last_exit: exit }: AppReport): boolean {
  if (state !== "stopped") return state === "running";
  return policy === "no" || (policy === "on-failure" && (exit === undefined || exit.code === 0));
}

/** Such as `web is restarting: 4 restarts, exit code 137 (out of memory).` */
function describeDown({ name, state, restarts, last_exit: exit }: AppReport): string {
  const told = [
    ...(state === "restarting" && restarts ? [`${restarts} ${restarts === 1 ? "restart" : "restarts"}`] : []),
    ...(exit ? [`exit code ${exit.code}${exit.out_of_memory ? " (out of memory)" : ""}`] : []),
  ];
  return `${name} is ${state}${told.length > 0 ? `: ${told.join(", ")}` : ""}.`;
}

/** Who changed an app, as far as its device knows. */
type ChangedBy = NonNullable<AppReport["changed"]>["by"];

/** How an app on a device differs from what a revision says of it. */
export interface Difference {
  readonly app: string;
  /**
   * `stopped`: a person has stopped it. `missing`: it is not there. `changed`: the device says that it was changed by other means
   * than the fleet, or it is there although it is to be absent. `differs`: its specification is another one, on a device that says nothing
   * about fleets. `revision`: it is unchanged from another revision of the fleet. `agent`: the agent itself is older.
   */
  readonly kind: "stopped" | "missing" | "changed" | "differs" | "revision" | "agent";
  /** For people, without values: `web was stopped`. */
  readonly what: string;
  readonly by: ChangedBy | undefined;
  /** When it was changed, Unix milliseconds; `undefined` if the device does not know. */
  readonly sinceMs: number | undefined;
}

/** Returns how a device differs from the goal: its agent, if that is older, and its apps. */
export function compareDevice(goal: Goal, reported: Reported, agentVersion: string | undefined): readonly Difference[] {
  const agent = compareAgent(goal, agentVersion);
  return [...(agent ? [agent] : []), ...compareApps(goal, reported)];
}

function compareAgent(goal: Goal, agentVersion: string | undefined): Difference | undefined {
  if (agentVersion === undefined || !needsAgent(goal, agentVersion)) return undefined;
  const what = `its agent is ${agentVersion}, older than ${goal.agent?.version}`;
  return { app: AGENT_APP, kind: "agent", what, by: undefined, sinceMs: undefined };
}

/** Returns how the apps differ from the goal, in the order of its apps; none if they do not, as far as the report tells. */
export function compareApps(goal: Goal, { apps, removals = [] }: Reported): readonly Difference[] {
  return goal.apps.flatMap((entry) => {
    const name = nameOf(entry);
    const found = apps.find((app) => app.name === name);
    if ("absent" in entry) return compareAbsent(goal, name, found) ?? [];
    return (found ? compareApp(goal, entry.app, found) : missing(name, removals)) ?? [];
  });
}

type Reported = Pick<ReportFacts, "apps" | "removals">;

function missing(app: string, removals: NonNullable<Reported["removals"]>): Difference {
  const removal = removals.find(({ name }) => name === app);
  if (!removal) return { app, kind: "missing", what: `${app} is not there`, by: undefined, sinceMs: undefined };
  const sinceMs = removal.since === undefined ? undefined : removal.since * 1000;
  return { app, kind: "missing", what: `${app} was removed`, by: removal.by, sinceMs };
}

function compareAbsent(goal: Goal, app: string, found: AppReport | undefined): Difference | undefined {
  if (found === undefined) return undefined;
  const mark = fleetMark(found);
  const isOfFleet = mark?.name === goal.fleet && !mark.isChanged;
  return { app, kind: isOfFleet ? "revision" : "changed", what: `${app} is there`, ...changeOf("changed", found) };
}

/**
 * A device that knows fleets says itself which revision an app is from and whether it was changed since. For others the
 * specifications are compared, without the values of environments and the contents of files, which reports do not have.
 */
function compareApp(goal: Goal, wanted: AppliedApp, found: AppReport): Difference | undefined {
  const app = wanted.name;
  const differs = (kind: Difference["kind"], what: string): Difference => ({
    app,
    kind,
    what,
    ...changeOf(kind, found),
  });
  if (found.desired_state === "stopped") return differs("stopped", `${app} was stopped`);
  const byHand = (): Difference => {
    const fields = found.changed?.what?.join(", ");
    return differs("changed", `${app} was changed on the device${fields === undefined ? "" : ` (${fields})`}`);
  };
  // Another tool has replaced its container: what the device says of the app itself is not what runs.
  if (found.changed?.by === "foreign") return byHand();
  const mark = fleetMark(found);
  if (mark === undefined) {
    const what = compareSpec(wanted, found);
    return what === undefined ? undefined : differs("differs", what);
  }
  if (mark.name !== goal.fleet) return differs("changed", `${app} is from the fleet ${mark.name}`);
  if (mark.isChanged) return byHand();
  if (mark.revision === goal.revision) return undefined;
  return { app, kind: "revision", what: `${app} is from revision ${mark.revision}`, by: undefined, sinceMs: undefined };
}

const LOCAL_DEPLOYMENT = "local-";

/**
 * Returns who has changed an app, and when: what its device says of that, or the deployment that it has had last, if that can have
 * been the one.
 */
function changeOf(kind: Difference["kind"], report: AppReport): Pick<Difference, "by" | "sinceMs"> {
  const { changed, last_deployment: last, fleet } = report;
  if (changed) return { by: changed.by, sinceMs: changed.since === undefined ? undefined : changed.since * 1000 };
  const isOne = kind === "stopped" ? last?.action === "stop" : last?.action === "update" || last?.action === "deploy";
  // The fleet's own have the id of its apply, with a number.
  if (!last || !isOne || last.status !== "Success" || last.deployment_id.split(".", 1)[0] === fleet?.deployment_id)
    return { by: undefined, sinceMs: undefined };
  const by = last.deployment_id.startsWith(LOCAL_DEPLOYMENT) ? "local" : "api";
  return { by, sinceMs: last.finished_at === null ? undefined : last.finished_at * 1000 };
}
