import { hasTemporaryName } from "../app/container.ts";
import type { AppRecord, ObservedContainer } from "../records.ts";
import type { CreateStep, Observed, RunProgress, Step } from "./step.ts";

/** Order: stop, remove the containers, remove the app's record. Data in mounted directories is kept. */
export function nextRemoveStep({ others }: Observed): Step {
  return (
    stopStepFor(others) ??
    (others.length > 0
      ? { kind: "clean", containerIds: others.map(({ id }) => id) }
      : { kind: "succeed", app: undefined, result: "removed" })
  );
}

/** Order: stop, store `stopped` as the desired state. */
export function nextStopStep(previous: AppRecord, { others }: Observed): Step {
  return stopStepFor(others) ?? { kind: "succeed", app: { ...previous, desired: "stopped" }, result: "stopped" };
}

/** Order: try and stop first for a restart, then start the same container, or a new one if it is gone; verify; report. */
export function nextStartStep(
  action: "start" | "restart",
  previous: AppRecord,
  observed: Observed,
  progress: RunProgress,
): Step {
  const { spec } = previous;
  const leftovers = leftoverStepFor(installedContainers(previous, observed));
  if (leftovers) return leftovers;
  const [container] = installedContainers(previous, observed);
  if (!container) return recreateStep(previous);
  const { id: containerId } = container;
  const isStarted = progress.startedContainerId === containerId;
  const isStopped = progress.stoppedContainerId === containerId;
  // A paused container must be stopped before it can be started. One between two runs is treated the same.
  const isPausedOrRestarting = container.up && !container.running;
  if (!isStarted && !isStopped && container.up && (action === "restart" || isPausedOrRestarting)) {
    // One that runs is stopped only for what can be expected to start.
    if (container.running && !progress.isTried) return { kind: "try", spec, image: previous.imageId };
    return { kind: "stop", containerIds: [containerId] };
  }
  if (hasTemporaryName(container.name, previous.name)) return { kind: "rename", app: previous.name, containerId };
  if (!isStarted && !container.running) return { kind: "start", spec, containerId };
  if (progress.verifiedContainerId !== containerId) return { kind: "verify", spec, containerId };
  const app: AppRecord = { ...previous, containerId, desired: "running" };
  return { kind: "succeed", app, result: action === "start" ? "started" : "restarted" };
}

/** Returns the containers of the installed version. */
export function installedContainers({ deploymentId }: AppRecord, { others }: Observed): ObservedContainer[] {
  return others.filter((other) => other.deploymentId === deploymentId);
}

/** Recreates the container of an installed app. By the image's id: the reference may point to another image now. */
export function recreateStep({ spec, imageId, deploymentId, previousImageId }: AppRecord): CreateStep {
  return { kind: "create", spec, image: imageId, deploymentId, place: "app", previousImageId, refetch: false };
}

/** Removes containers that can never run again: another one is to take their name. */
export function leftoverStepFor(containers: readonly ObservedContainer[]): Step | undefined {
  const leftovers = containers.filter(({ isLeftover }) => isLeftover);
  return leftovers.length > 0 ? { kind: "clean", containerIds: leftovers.map(({ id }) => id) } : undefined;
}

function stopStepFor(containers: readonly ObservedContainer[]): Step | undefined {
  const up = containers.filter((container) => container.up);
  return up.length > 0 ? { kind: "stop", containerIds: up.map(({ id }) => id) } : undefined;
}
