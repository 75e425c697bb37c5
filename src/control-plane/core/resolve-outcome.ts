import type { DeploymentStep } from "../../protocol/deployments/deployment-event.ts";
import type { DeploymentOutcome } from "../../protocol/deployments/deployment-outcome.ts";
import { pendingDeadlines, remainingMs } from "./deadlines.ts";
import { connectedIn, hasReached } from "./connection.ts";
import { noteConnectionRestored, failMissingOnDevice } from "./connection-notes.ts";
import {
  acknowledgedAtMsOf,
  type Deployment,
  type DeploymentChange,
  type Failed,
  isFinished,
  progressOf,
  type Uncertain,
  uncertaintyOf,
  wasNeverSent,
} from "./deployment.ts";
import {
  hasEndedUncertain,
  isFromBackup,
  clearUncertainty,
  OVERDUE_GRACE_MS,
  RESTORED_GRACE_MS,
} from "./outcome-uncertainty.ts";
import { mustUndo } from "./delivery.ts";
import { appendEvent } from "./event-log.ts";
import { acknowledge, fail, appendNote, settled } from "./transitions.ts";
import { endWait, endWaitToSend, waitAgainForDevice } from "./waiting.ts";

/*
 * The outcome of a deployment is uncertain while the record may be behind the device: the service was down or restored
 * from a backup, or the device does not hold a deployment that it should. The device is then queried for the outcome. Until
 * it answers, it is not told to undo anything: the app may run after a reported success.
 */

/** The outcome of a deployment as its device reports it; `unavailable` when the device cannot report it. */
export type ReportedOutcome = Pick<DeploymentOutcome, "status" | "message" | "code"> | "unavailable";

/** Marks a deployment as uncertain after a start of the service, if it is. */
export function markUncertainOnStart(
  deployment: Deployment,
  nowMs: number,
  ackTimeoutMs: number,
): DeploymentChange | undefined {
  if (isFinished(deployment)) return undefined;
  const uncertainty = uncertaintyOf(deployment);
  const progress = progressOf(deployment);
  if (uncertainty === "backup") {
    const noted = appendNote(
      deployment,
      nowMs,
      "The service was restored from a backup taken during this deployment; the device is asked for its outcome.",
      { service: "restored" },
    );
    const untilMs = Math.max(deployment.deadlineAtMs, nowMs + RESTORED_GRACE_MS);
    const state: Uncertain = { kind: "uncertain", uncertainty: "restored", untilMs, progress };
    return { ...noted, fields: { ...noted?.fields, state } };
  }
  const isOverdue = pendingDeadlines(deployment, ackTimeoutMs).some((deadline) => remainingMs(deadline, nowMs) === 0);
  if (uncertainty === "restored" || !isOverdue) return undefined;
  if (mayWaitAgain(deployment)) {
    const waiting = waitAgainForDevice(deployment, nowMs, "The service was restarted; waiting for the device");
    if (waiting) return waiting;
  }
  const untilMs = Math.max(deployment.createdAtMs, nowMs) + OVERDUE_GRACE_MS;
  return { fields: { state: { kind: "uncertain", uncertainty: "overdue", untilMs, progress } } };
}

/** Whether the wait of its client goes on: the device never acknowledged it, and it is not cancelled. */
function mayWaitAgain(deployment: Deployment): boolean {
  const uncertainty = uncertaintyOf(deployment);
  // One of which the device was being asked stays so: it is asked again when it connects.
  const isCertain = uncertainty === undefined || uncertainty === "asked";
  return progressOf(deployment).kind === "sending" && deployment.cancelRequestedAtMs === undefined && isCertain;
}

/** Marks a deployment that the device, connected in this session, does not hold: its outcome must be queried. */
export function markForOutcomeQuery(
  deployment: Deployment,
  nowMs: number,
  epoch: number,
): DeploymentChange | undefined {
  const connection = connectedIn(epoch);
  if (hasReached(deployment.connection, connection)) return undefined;
  const { state } = deployment;
  if (state.kind === "ended") return hasEndedUncertain(deployment) ? { fields: { connection } } : undefined;
  // The device cannot have it, so that it is sent at once, before what was requested later.
  if (state.kind !== "uncertain" && wasNeverSent(state)) return undefined;
  const uncertain: Uncertain =
    state.kind === "uncertain" ? state : { kind: "uncertain", uncertainty: "asked", progress: state };
  // One that waited when the service went down is sent only if its time is not over.
  const sent =
    uncertain.uncertainty === "asked" ? endWaitToSend({ ...deployment, state: uncertain }, nowMs) : undefined;
  const noted = deployment.connection.isLost ? noteConnectionRestored(deployment, nowMs) : sent;
  return { ...noted, fields: { state: uncertain, ...noted?.fields, connection } };
}

/** Whether the outcome must be queried in this session. */
export function needsOutcomeQuery(deployment: Deployment, epoch: number): boolean {
  const { state, connection } = deployment;
  const isOpen = state.kind === "uncertain" || hasEndedUncertain(deployment);
  return isOpen && connection.epoch === epoch && !connection.isLost;
}

/**
 * Applies an outcome reported in this session. The change names what has to be delivered after it. Changes nothing when the
 * query is settled or stale.
 */
export function applyOutcome(
  deployment: Deployment,
  answer: ReportedOutcome,
  nowMs: number,
  epoch: number,
): DeploymentChange | undefined {
  if (!needsOutcomeQuery(deployment, epoch)) return undefined;
  const { state } = deployment;
  if (state.kind === "ended") return state.status === "Fail" ? applyOutcomeToFailed(state, answer) : undefined;
  if (answer === "unavailable") return failWithUnknownOutcome(deployment, nowMs, "the agent is too old to report it");
  switch (answer.status) {
    case "Running":
      return confirmHeld(deployment, nowMs, epoch);
    case "Success":
    case "Fail":
      return settle(endAsReported(deployment, answer, nowMs));
    case null:
      return applyMissingOutcome(deployment, nowMs);
  }
}

function confirmHeld(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange {
  const acknowledged = acknowledge(deployment, nowMs, epoch)?.fields;
  return { fields: { ...acknowledged, ...clearUncertainty({ ...deployment, ...acknowledged }, nowMs) } };
}

/** Decides for a deployment that has failed on record: its end stays, and the device undoes what it may still have. */
function applyOutcomeToFailed(state: Failed, answer: ReportedOutcome): DeploymentChange {
  const hasEnded = answer === "unavailable" || answer.status === "Success" || answer.status === "Fail";
  const unsettled = !hasEnded && mustUndo(state.code, state.progress) ? "undo" : undefined;
  return { fields: { state: { ...state, unsettled } } };
}

/** Adds to the change that ends a deployment that the outcome is not queried again, and what is open instead. */
function settle(change: DeploymentChange | undefined, unsettled?: "undo"): DeploymentChange | undefined {
  return change && settled(change, unsettled);
}

/** Decides for a deployment of which the device has no record. */
function applyMissingOutcome(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (isFromBackup(deployment)) return failWithUnknownOutcome(deployment, nowMs, "the device has no record of it");
  if (isOnTrial(deployment)) return { fields: { state: progressOf(deployment) } };
  // A device that lost its store may still run the container, which it finds by label.
  if (acknowledgedAtMsOf(deployment) !== undefined || deployment.cancelRequestedAtMs !== undefined) {
    return settle(failMissingOnDevice(deployment, nowMs), "undo");
  }
  if (uncertaintyOf(deployment) === "overdue") return settle(fail(deployment, nowMs, "DeviceNotReachable"));
  const sent = endWait(deployment, nowMs);
  return { fields: { ...sent, state: progressOf({ ...deployment, ...sent }) } };
}

/**
 * Whether a release of the agent may be on trial: it may have lost the record, which the version before has again. Until then, or its
 * deadline, the deployment is open.
 */
function isOnTrial(deployment: Deployment): boolean {
  const { command, lastEvent, cancelRequestedAtMs } = deployment;
  if (command.action !== "update_agent" || cancelRequestedAtMs !== undefined) return false;
  return uncertaintyOf(deployment) === "asked" && TRIAL_STEPS.has(lastEvent?.step);
}

/** Steps from the handing over of a release to the device's updater on. */
const TRIAL_STEPS: ReadonlySet<DeploymentStep | undefined> = new Set(["starting", "verifying", "rolling_back"]);

/** Ends the deployment with the outcome the device reports. */
function endAsReported(
  deployment: Deployment,
  { status, message, code }: Exclude<ReportedOutcome, "unavailable">,
  nowMs: number,
): DeploymentChange | undefined {
  const isSuccess = status === "Success";
  const ownMessage = message ?? (isSuccess ? "The deployment has succeeded." : "The deployment has failed.");
  const note =
    "This is the outcome on record on the device: the service was restarted or restored from a backup and had lost it.";
  return appendEvent(
    deployment,
    {
      status: isSuccess ? "Success" : "Fail",
      message: `${ownMessage} ${note}`,
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
    `The outcome of this deployment is unknown: ${why}. Nothing is undone on the device; check the app there.`,
    { outcome: "unknown" },
  );
  // On a record from a backup the uncertainty is kept, so that nothing is undone later either.
  return isFromBackup(deployment) ? change : settle(change);
}
