import type { AppReport } from "../../protocol/app-report.ts";
import type { DeploymentOutcome } from "../../protocol/deployment-outcome.ts";
import { pendingDeadlines, remainingMs } from "./deadlines.ts";
import { connectedIn, isConnectionLost } from "./connection.ts";
import { noteConnectionRestored, failMissingOnDevice } from "./connection-notes.ts";
import { type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import {
  hasEndedUncertain,
  isFromBackup,
  clearUncertainty,
  OVERDUE_GRACE_MS,
  RESTORED_GRACE_MS,
} from "./outcome-uncertainty.ts";
import { appendEvent } from "./event-log.ts";
import { acknowledge, fail, appendNote } from "./transitions.ts";

/*
 * A deployment is in doubt while the record may be behind the device: the service was down or restored from a backup, or
 * the device does not hold what it should. It is then asked what became of it, and until it has answered it is told to
 * undo nothing: what it has reported as a success may be running.
 */

/** What a device says of a deployment it does not hold; `unavailable` where it cannot be asked. */
export type ReportedOutcome = Pick<DeploymentOutcome, "status" | "message" | "code"> | "unavailable";

/** What follows from an answer: a change of the record, and what the device is to be told then. */
export interface OutcomeDecision {
  readonly change?: DeploymentChange | undefined;
  readonly nextAction?: "send" | "cancel" | undefined;
}

/** The service takes up the deployment after a start. Answers `undefined` where nothing is in doubt about it. */
export function markUncertainOnStart(
  deployment: Deployment,
  nowMs: number,
  ackTimeoutMs: number,
): DeploymentChange | undefined {
  if (isFinished(deployment)) return undefined;
  if (deployment.uncertainty === "backup") {
    const said = appendNote(
      deployment,
      nowMs,
      "The service was restored from a backup taken during this deployment; the device is asked what became of it.",
      { service: "restored" },
    );
    const uncertainUntilMs = Math.max(deployment.deadlineAtMs, nowMs + RESTORED_GRACE_MS);
    return { ...said, fields: { ...said?.fields, uncertainty: "restored", uncertainUntilMs } };
  }
  const isOverdue = pendingDeadlines(deployment, ackTimeoutMs).some((deadline) => remainingMs(deadline, nowMs) === 0);
  if (deployment.uncertainty === "restored" || !isOverdue) return undefined;
  const uncertainUntilMs = Math.max(deployment.createdAtMs, nowMs) + OVERDUE_GRACE_MS;
  return { fields: { uncertainty: "overdue", uncertainUntilMs } };
}

/** The device is connected, in the session of this number, and does not hold the deployment: it is to be asked. */
export function markForOutcomeQuery(
  deployment: Deployment,
  nowMs: number,
  epoch: number,
): DeploymentChange | undefined {
  const connection = connectedIn(epoch);
  if (deployment.connection >= connection) return undefined;
  if (isFinished(deployment)) return hasEndedUncertain(deployment) ? { fields: { connection } } : undefined;
  const restored = isConnectionLost(deployment) ? noteConnectionRestored(deployment, nowMs) : undefined;
  return { ...restored, fields: { ...restored?.fields, connection, uncertainty: deployment.uncertainty ?? "asked" } };
}

/** Whether the device is to be asked about it in the session of this number. */
export function needsOutcomeQuery(deployment: Deployment, epoch: number): boolean {
  const { status, uncertainty, connection } = deployment;
  const isOpen = status === "Running" ? uncertainty !== undefined : hasEndedUncertain(deployment);
  return isOpen && connection === connectedIn(epoch);
}

/** Takes the device's answer, given in the session of this number; nothing where the question is settled or stale. */
export function applyOutcome(
  deployment: Deployment,
  answer: ReportedOutcome,
  nowMs: number,
  epoch: number,
): OutcomeDecision {
  if (!needsOutcomeQuery(deployment, epoch)) return {};
  if (isFinished(deployment)) return applyOutcomeToEnded(answer);
  if (answer === "unavailable")
    return { change: failWithUnknownOutcome(deployment, nowMs, "the agent is too old to say") };
  switch (answer.status) {
    case "Running":
      return {
        change: {
          fields: { ...acknowledge(deployment, nowMs, epoch)?.fields, ...clearUncertainty(deployment, nowMs) },
        },
      };
    case "Success":
    case "Fail":
      return { change: withoutUncertainty(endAsReported(deployment, answer, nowMs)) };
    case null:
      return applyMissingOutcome(deployment, nowMs);
  }
}

/** It ended before the device had said what became of it: the end stands, and what is left of it is to be undone. */
function applyOutcomeToEnded(answer: ReportedOutcome): OutcomeDecision {
  const change = { fields: { uncertainty: undefined } };
  const hasEnded = answer === "unavailable" || answer.status === "Success" || answer.status === "Fail";
  return hasEnded ? { change } : { change, nextAction: "cancel" };
}

/** The device has said what there is to say: it is not asked again. */
function withoutUncertainty(change: DeploymentChange | undefined): DeploymentChange | undefined {
  return change && { ...change, fields: { ...change.fields, uncertainty: undefined, uncertainUntilMs: undefined } };
}

/** The device has nothing on record of it. */
function applyMissingOutcome(deployment: Deployment, nowMs: number): OutcomeDecision {
  const { uncertainty, acknowledgedAtMs, cancelRequestedAtMs } = deployment;
  if (isFromBackup(deployment))
    return { change: failWithUnknownOutcome(deployment, nowMs, "the device has no record of it") };
  // A device that lost its memory may still run what it began: it finds it by the container's label.
  if (acknowledgedAtMs !== undefined || cancelRequestedAtMs !== undefined) {
    return { change: withoutUncertainty(failMissingOnDevice(deployment, nowMs)), nextAction: "cancel" };
  }
  if (uncertainty === "overdue") return { change: withoutUncertainty(fail(deployment, nowMs, "DeviceNotReachable")) };
  return { change: { fields: { uncertainty: undefined } }, nextAction: "send" };
}

/** Ends the deployment as the device says it has ended. */
function endAsReported(
  deployment: Deployment,
  { status, message, code }: Exclude<ReportedOutcome, "unavailable">,
  nowMs: number,
): DeploymentChange | undefined {
  const isSuccess = status === "Success";
  const said = message ?? (isSuccess ? "The deployment has succeeded." : "The deployment has failed.");
  const note =
    "This is what the device has on record: the service was restarted or restored from a backup and had lost how it ended.";
  return appendEvent(
    deployment,
    {
      status: isSuccess ? "Success" : "Fail",
      message: `${said} ${note}`,
      step: isSuccess ? "done" : (deployment.lastEvent?.step ?? "received"),
      ...(!isSuccess && { code: code ?? "Internal" }),
      details: { recovered: true },
    },
    nowMs,
  );
}

function failWithUnknownOutcome(deployment: Deployment, nowMs: number, why: string): DeploymentChange | undefined {
  const isCancelled = deployment.cancelRequestedAtMs !== undefined;
  const change = fail(
    deployment,
    nowMs,
    isCancelled ? "DeploymentCancelled" : "Internal",
    `How this deployment ended is not known: ${why}. Nothing is undone on the device; see how the app is there.`,
    { outcome: "unknown" },
  );
  // Kept on a record from a backup, for nothing to be undone later either.
  return isFromBackup(deployment) ? change : withoutUncertainty(change);
}

/** What the report of a device tells that cannot be asked about deployments. */
export function outcomeFromReport({ id, app, action }: Deployment, apps: readonly AppReport[]): ReportedOutcome {
  const reported = apps.find(({ name }) => name === app);
  const last = reported?.last_deployment;
  if (last?.deployment_id === id) return { status: last.status, ...(last.code && { code: last.code }) };
  if (!reported && action === "remove") return { status: "Success", message: `App ${app} is not on the device.` };
  // A device that remembers a deployment of the app has not lost its memory, so what runs may have been reported.
  return last ? "unavailable" : { status: null };
}
