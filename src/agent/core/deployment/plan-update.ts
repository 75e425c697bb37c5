import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { canonicalSpec, containerName } from "../app/container.ts";
import { isSameRepository } from "../image/known-digest.ts";
import type { AppRecord, DeploymentRecord } from "../records.ts";
import { nextImageStep } from "./plan-image.ts";
import type { Observed, RunProgress, Step } from "./step.ts";

/**
 * Order: check, get the image, create and try while the old version runs; switch and verify; commit; remove the old version;
 * report. A stopped app gets its new version and stays stopped.
 */
export function nextUpdateStep(
  record: DeploymentRecord,
  spec: AppSpec,
  previous: AppRecord,
  observed: Observed,
  progress: RunProgress,
): Step {
  if (record.committed) return nextStepAfterCommit(observed);
  // Before any check: an update without a change must not fail.
  const { id: deploymentId, imageId, digest } = record;
  if (isUnchanged(record, spec, previous) && !record.fetches) {
    // The digest may have become known, or be that of a new index with the same image for this platform.
    const isNews = digest !== undefined && digest !== previous.digest && !record.options.dry_run;
    const app = isNews ? { ...previous, digest } : undefined;
    return { kind: "succeed", app, result: "unchanged", imageCheck: progress.imageCheck };
  }
  if (imageId === undefined || !record.checked || record.fetches || record.options.dry_run)
    return nextImageStep(record, spec, progress);

  const [container, ...surplus] = observed.containers.filter(({ isLeftover }) => !isLeftover);
  // Further containers of this app, which the engine created late or twice, occupy a name or a port that is needed. Those
  // that can never run again occupy a name.
  const stale = [
    ...observed.containers.filter(({ isLeftover }) => isLeftover),
    ...surplus,
    ...observed.others.filter((other) => other.deploymentId !== previous.deploymentId || other.isLeftover),
  ];
  if (stale.length > 0) return { kind: "clean", containerIds: stale.map(({ id }) => id) };
  if (!container) {
    const image = imageId === previous.imageId ? imageId : spec.image;
    const refetch = !progress.refetched;
    return {
      kind: "create",
      spec,
      image,
      deploymentId,
      place: "new_version",
      previousImageId: previous.imageId,
      refetch,
    };
  }
  const start = previous.desired === "running";
  const isStarted = container.running || progress.startedContainerId === container.id || !start;
  const isInPlace = container.name === containerName(previous.name) && !observed.others.some(({ up }) => up);
  if (!isStarted || !isInPlace) {
    const isServing = observed.others.some(({ up }) => up);
    if (isServing && start && !record.touched && !progress.isTried) return { kind: "try", spec, image: imageId };
    return { kind: "switch", spec, container, others: observed.others, start };
  }
  if (start && progress.verifiedContainerId !== container.id) {
    return { kind: "verify", spec, containerId: container.id };
  }
  return {
    kind: "commit",
    app: updatedApp(previous, { spec, imageId, digest, deploymentId, containerId: container.id }),
  };
}

/** Returns the record of the app in its new version. */
function updatedApp(
  previous: AppRecord,
  next: Pick<AppRecord, "spec" | "imageId" | "digest" | "deploymentId" | "containerId">,
): AppRecord {
  const { spec, imageId, digest } = next;
  const isKept = imageId === previous.imageId;
  const keptDigest = isKept && isSameRepository(spec.image, previous.spec.image) ? previous.digest : undefined;
  const {
    changedBy: _changedBy,
    isAdopted: _isAdopted,
    changed: _changed,
    digest: _digest,
    fleet,
    ...unchanged
  } = previous;
  const mark = fleet && { fleet: { ...fleet, isChanged: true } };
  const previousImageId = isKept ? previous.previousImageId : previous.imageId;
  return { ...unchanged, ...next, digest: digest ?? keptDigest, previousImageId, ...mark };
}

/**
 * The old container is not needed any more: a rollback recreates it from its image. One that cannot be removed is left
 * behind, and does not keep the update from its success.
 */
function nextStepAfterCommit({ others }: Observed): Step {
  if (others.length > 0) return { kind: "clean", containerIds: others.map(({ id }) => id) };
  return { kind: "succeed", app: undefined, result: "updated" };
}

function isUnchanged({ imageId }: DeploymentRecord, spec: AppSpec, previous: AppRecord): boolean {
  // What another tool has made is not what the app was installed as.
  if (previous.changed?.by === "foreign") return false;
  return imageId === previous.imageId && canonicalSpec(spec) === canonicalSpec(previous.spec);
}
