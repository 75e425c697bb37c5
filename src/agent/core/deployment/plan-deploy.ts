import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { type DeploymentRecord, newApp } from "../records.ts";
import { nextImageStep } from "./plan-image.ts";
import type { Observed, RunProgress, Step } from "./step.ts";

/** The steps of a new app, in this order: check, get the image, create, start, verify, report. */
export function nextDeployStep(
  record: DeploymentRecord,
  spec: AppSpec,
  observed: Observed,
  progress: RunProgress,
): Step {
  const { id: deploymentId, imageId, digest } = record;
  if (imageId === undefined || !record.checked || record.fetches || record.options.dry_run)
    return nextImageStep(record, spec, progress);

  const leftovers = observed.containers.filter(({ isLeftover }) => isLeftover);
  const [container, ...surplus] = observed.containers.filter(({ isLeftover }) => !isLeftover);
  const stale = [...leftovers, ...surplus];
  if (stale.length > 0) return { kind: "clean", containerIds: stale.map(({ id }) => id) };
  if (!container) {
    return {
      kind: "create",
      spec,
      image: spec.image,
      deploymentId,
      place: "app",
      previousImageId: undefined,
      refetch: !progress.refetched,
    };
  }
  if (!container.running && progress.startedContainerId !== container.id) {
    return { kind: "start", spec, containerId: container.id };
  }
  if (progress.verifiedContainerId !== container.id) return { kind: "verify", spec, containerId: container.id };
  const app = newApp(spec, { deploymentId, imageId, digest, containerId: container.id });
  return { kind: "succeed", app, result: "installed" };
}
