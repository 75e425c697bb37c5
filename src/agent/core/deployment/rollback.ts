import { hasTemporaryName } from "../app/container.ts";
import type { AppRecord, DeploymentRecord, Failure } from "../records.ts";
import { installedContainers, leftoverStepFor, recreateStep } from "./plan-lifecycle.ts";
import { staysExited } from "../app/restart-policy.ts";
import type { Observed, RunProgress, Step } from "./step.ts";

/**
 * Returns the next step of a failed deployment's rollback; the last one reports the failure. Containers it created are
 * removed; what it changed is restored, only from images on the device.
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
  const created = observed.containers;
  // A cancelled version may be working, so it gets time to stop. One that failed is removed at once.
  const isGentle = record.action === "update" && failure.code === "DeploymentCancelled";
  const stopping = isGentle ? created.filter(({ id, up }) => up && progress.stoppedContainerId !== id) : [];
  if (stopping.length > 0) return { kind: "stop", containerIds: stopping.map(({ id }) => id) };
  if (created.length > 0) return { kind: "clean", containerIds: created.map(({ id }) => id) };
  if (!record.touched || !previous) return { kind: "fail", failure, app: undefined };
  const step = record.rollbackFailure ? undefined : restoreStep(record, previous, observed, progress);
  const containerId = installedContainers(previous, observed)[0]?.id ?? previous.containerId;
  return step ?? { kind: "fail", failure, app: { ...previous, containerId } };
}

/** Returns the next step that restores the app; `undefined` when that is done. */
function restoreStep(
  { action }: DeploymentRecord,
  previous: AppRecord,
  observed: Observed,
  progress: RunProgress,
): Step | undefined {
  const { spec, desired } = previous;
  const leftovers = leftoverStepFor(installedContainers(previous, observed));
  if (leftovers) return leftovers;
  const [container] = installedContainers(previous, observed);
  // An app that stays exited may have ended before the deployment: it must not do its work again.
  const mayStayExited = staysExited(spec.restart_policy, undefined);
  if (!container) return mayStayExited ? undefined : recreateStep(previous);
  const { id: containerId } = container;
  if (hasTemporaryName(container.name, previous.name)) return { kind: "rename", app: previous.name, containerId };
  if (desired === "stopped") {
    return container.up && progress.stoppedContainerId !== containerId
      ? { kind: "stop", containerIds: [containerId] }
      : undefined;
  }
  if (!container.up && mayStayExited) return undefined;
  if (!container.up && progress.startedContainerId !== containerId) return { kind: "start", spec, containerId };
  // A start or restart has verified the same version already.
  const isVerified = action === "start" || action === "restart";
  return isVerified || progress.verifiedContainerId === containerId ? undefined : { kind: "verify", spec, containerId };
}

/** Whether a later deployment has changed the app since: then there is nothing to revert. */
function isSuperseded({ id, action, previous }: DeploymentRecord, installed: AppRecord | undefined): boolean {
  if (action === "deploy" || action === "update") return installed?.deploymentId !== id;
  if (action === "remove") return installed !== undefined;
  // The result of a later stop, start or restart stays.
  const isChangedSince = installed?.changedBy !== undefined && installed.changedBy !== id;
  return installed?.deploymentId !== previous?.deploymentId || isChangedSince;
}

/** Whether a rollback has to restore the app from this step on. Must be stored before the step begins. */
export function beginsTouching({ action, previous, failure, touched }: DeploymentRecord, step: Step): boolean {
  if (touched || failure || !previous) return false;
  return action === "update" ? step.kind === "switch" : CHANGES_APP[step.kind];
}

/**
 * Whether a step changes the app that was there before. A rollback restores it only if this was stored beforehand, so
 * a new kind of step must be listed here; in an update only `switch` changes the previous version.
 */
const CHANGES_APP: Readonly<Record<Step["kind"], boolean>> = {
  check: false,
  resolve: false,
  fetch: false,
  pull: false,
  create: true,
  try: false,
  switch: true,
  rename: true,
  stop: true,
  start: true,
  connect: true,
  verify: false,
  clean: true,
  report_cost: false,
  commit: false,
  revert: false,
  succeed: false,
  fail: false,
};
