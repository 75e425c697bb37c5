import type { ProgressDetails } from "../../../protocol/deployments/deployment-event.ts";
import type { SimType } from "../../../protocol/assets/sim.ts";
import { type Deployment, type DeploymentChange, progressOf } from "../deployment.ts";
import { appendEvent } from "../event-log.ts";
import { failUnsent } from "../transitions.ts";
import { waitingFields } from "../waiting.ts";

/** The data plan of a SIM that stands in the way of a deployment, and what becomes of that. */
export interface DataPlanObstacle {
  readonly effect: "wait" | "refuse";
  readonly type: SimType;
  readonly allowanceBytes: number;
  /** End of the month, in Unix seconds. */
  readonly until: number;
}

const DAY_MS = 24 * 3_600_000;
const SIM_NAMES: Readonly<Record<SimType, string>> = { supersim: "Super SIM", prosim: "PRO SIM" };
/** What the agent calls a budget of a month, also in its own reports. */
const LIMIT = "monthly_budget";

/** Whether a spent plan stands in the way of it: it may download, and is neither urgent nor a check. */
export function mayUseDataPlan({ command, options }: Pick<Deployment, "command" | "options">): boolean {
  return (
    ["deploy", "update", "apply", "update_agent"].includes(command.action) &&
    options.urgent !== true &&
    options.dry_run !== true
  );
}

/** How long a deployment waits at most: until the month is over, and a day for its device. In milliseconds. */
export function planWaitMs({ until }: DataPlanObstacle, nowMs: number): number {
  return Math.max(0, until * 1000 - nowMs) + DAY_MS;
}

/** Whether the deployment was told last to wait for a data plan. */
export function isWaitingForDataPlan(deployment: Pick<Deployment, "state" | "lastEvent">): boolean {
  return progressOf(deployment).kind === "waiting" && deployment.lastEvent?.details?.["waiting_for"] === LIMIT;
}

/** Makes a deployment that was not sent wait as the agent does for its budget of a month: with the same details. */
export function waitForDataPlan(
  deployment: Deployment,
  nowMs: number,
  { type, until }: DataPlanObstacle,
): DeploymentChange | undefined {
  const { waitUntilMs } = deployment;
  if (waitUntilMs === undefined) return undefined;
  const minute = new Date(until * 1000).toISOString().slice(0, 16).replace("T", " ");
  const message = `Waiting until ${minute} UTC with the download: the data plan of the ${SIM_NAMES[type]} is used up.`;
  const waiting = { waiting_s: Math.max(0, until - Math.floor(nowMs / 1000)) } satisfies ProgressDetails;
  const details = { waiting_for: LIMIT, waiting_until: until, ...waiting, sim_type: type };
  const noted = appendEvent(deployment, { status: "Running", message, step: "received", details }, nowMs);
  return { ...noted, fields: { ...noted?.fields, ...waitingFields(deployment, waitUntilMs) } };
}

/** Fails a new deployment as the agent does one that its budget of a month never allows. Nothing was sent. */
export function refuseForDataPlan(
  deployment: Deployment,
  nowMs: number,
  { type, allowanceBytes, until }: DataPlanObstacle,
): DeploymentChange | undefined {
  const message =
    `The data plan of the ${SIM_NAMES[type]} is used up: ${allowanceBytes} bytes a month. ` +
    "Only urgent deployments are carried out until it begins anew.";
  const details = { limit_bytes: allowanceBytes, limit: LIMIT, sim_type: type, waiting_until: until };
  return failUnsent(deployment, nowMs, "DataBudgetExceeded", message, details);
}
