import { hasTemporaryName } from "../app/container.ts";
import type { AppRecord, DeploymentRecord, Failure } from "./record.ts";
import { installedContainers, recreateStep } from "./plan-lifecycle.ts";
import { staysExited } from "../app/restart-policy.ts";
import type { Observed, RunProgress, Step } from "./step.ts";

/**
 * Undoes what a deployment did, one step after the other, and reports its failure last. What it made is removed; what it
 * changed is put back as it was, from images on the device alone.
 */
export function nextRollbackStep(
  record: DeploymentRecord,
  failure: Failure,
  observed: Observed,
  progress: RunProgress,
  installed: AppRecord | undefined,
): Step {
  const { previous } = record;
  if (record.committed) return { kind: "revert", app: previous, superseded: isSuperseded(record, installed) };
  const made = observed.containers;
  // One that was cancelled may be in the middle of something; one that failed has had its chance.
  const isGentle = record.action === "update" && failure.code === "DeploymentCancelled";
  const ending = isGentle ? made.filter(({ id, up }) => up && progress.stoppedContainerId !== id) : [];
  if (ending.length > 0) return { kind: "stop", containerIds: ending.map(({ id }) => id) };
  if (made.length > 0) return { kind: "clean", containerIds: made.map(({ id }) => id) };
  if (!record.touched || !previous) return { kind: "fail", failure, app: undefined };
  const step = record.rollbackFailure ? undefined : restoreStep(record, previous, observed, progress);
  const containerId = installedContainers(previous, observed)[0]?.id ?? previous.containerId;
  return step ?? { kind: "fail", failure, app: { ...previous, containerId } };
}

/** What is left to do until the app is again what it was. */
function restoreStep(
  { action }: DeploymentRecord,
  previous: AppRecord,
  observed: Observed,
  progress: RunProgress,
): Step | undefined {
  const { spec, desired } = previous;
  const [container] = installedContainers(previous, observed);
  // One that is down for good once it has ended may have been so before: doing its work again was not asked for.
  const staysDown = staysExited(spec.restart_policy, undefined);
  if (!container) return staysDown ? undefined : recreateStep(previous);
  const { id: containerId } = container;
  if (hasTemporaryName(container.name, previous.name)) return { kind: "rename", app: previous.name, containerId };
  if (desired === "stopped") {
    return container.up && progress.stoppedContainerId !== containerId
      ? { kind: "stop", containerIds: [containerId] }
      : undefined;
  }
  if (!container.up && staysDown) return undefined;
  if (!container.up && progress.startedContainerId !== containerId) return { kind: "start", spec, containerId };
  // An app that was only started or restarted is no other than before: what became of it has been seen.
  const isKnown = action === "start" || action === "restart";
  return isKnown || progress.verifiedContainerId === containerId ? undefined : { kind: "verify", spec, containerId };
}

/** Whether a later deployment has changed the app since: then there is nothing left to take back. */
function isSuperseded({ id, action, previous }: DeploymentRecord, installed: AppRecord | undefined): boolean {
  if (action === "deploy" || action === "update") return installed?.deploymentId !== id;
  if (action === "remove") return installed !== undefined;
  // A later stop, start or restart was answered too: what it made of the app stays.
  const isChangedSince = installed?.changedBy !== undefined && installed.changedBy !== id;
  return installed?.deploymentId !== previous?.deploymentId || isChangedSince;
}

/** Whether there is something to put right from this step on. To be remembered before it is begun. */
export function beginsTouching({ action, previous, failure, touched }: DeploymentRecord, step: Step): boolean {
  if (touched || failure || !previous) return false;
  return action === "update" ? step.kind === "switch" : TOUCHING.has(step.kind);
}

const TOUCHING: ReadonlySet<Step["kind"]> = new Set(["stop", "start", "create", "rename", "clean"]);
