import type { AppSpec } from "../../protocol/app-spec.ts";
import type { DeploymentRecord, Failure, ObservedContainer } from "./deployment.ts";

/** The closed set of things the agent does for a deployment. Each has an executor in `agent/steps`. */
export type Step =
  | { readonly kind: "check"; readonly spec: AppSpec }
  | { readonly kind: "pull"; readonly spec: AppSpec }
  | { readonly kind: "create"; readonly spec: AppSpec; readonly image: string }
  | { readonly kind: "start"; readonly spec: AppSpec; readonly containerId: string }
  | { readonly kind: "verify"; readonly spec: AppSpec; readonly containerId: string }
  | { readonly kind: "succeed"; readonly spec: AppSpec; readonly imageId: string; readonly containerId: string }
  | { readonly kind: "clean"; readonly containerIds: readonly string[] }
  | { readonly kind: "fail"; readonly failure: Failure };

/** What the engine shows of one deployment. */
export interface Observed {
  /** Containers that carry the deployment's label. */
  readonly containers: readonly ObservedContainer[];
}

/**
 * What this run of the agent did, and never remembers over a restart: after one, a container that does not run is
 * started once more (the power may have been cut), and what runs is verified anew.
 */
export interface Progress {
  readonly startedContainerId: string | undefined;
  readonly verifiedContainerId: string | undefined;
}

/**
 * The next thing to do for a deployment, or `undefined` when it has ended. The same decision serves the first run and
 * the one after a power cut: it asks what is there, not what was last done. Order: a failure first cleans up and is
 * reported only when nothing is left; otherwise check, pull, create, start, verify, report.
 */
export function nextStep(record: DeploymentRecord, observed: Observed, progress: Progress): Step | undefined {
  if (record.outcome !== "pending") return undefined;
  if (record.failure) return endInFailure(record.failure, observed);
  const { spec } = record;
  if (!spec) throw new Error("a deployment without a specification must have a failure");
  if (!record.checked) return { kind: "check", spec };
  if (record.imageId === undefined) return { kind: "pull", spec };

  const [container, ...surplus] = observed.containers;
  if (surplus.length > 0) return { kind: "clean", containerIds: surplus.map(({ id }) => id) };
  if (!container) return { kind: "create", spec, image: spec.image };
  if (!container.running && progress.startedContainerId !== container.id) {
    return { kind: "start", spec, containerId: container.id };
  }
  if (progress.verifiedContainerId !== container.id) return { kind: "verify", spec, containerId: container.id };
  return { kind: "succeed", spec, imageId: record.imageId, containerId: container.id };
}

function endInFailure(failure: Failure, observed: Observed): Step {
  if (observed.containers.length === 0) return { kind: "fail", failure };
  return { kind: "clean", containerIds: observed.containers.map(({ id }) => id) };
}
