import type { AppSpec } from "../../../protocol/app-spec.ts";
import type { ImageSource, PullCost } from "../image/image.ts";
import type { AppRecord, Failure, ObservedContainer } from "./record.ts";

/** The closed set of things the agent does for a deployment. Each has an executor in `agent/steps`. */
export type Step =
  | { readonly kind: "check"; readonly spec: AppSpec }
  /** `attempt`: 1 for the first. */
  | { readonly kind: "resolve"; readonly spec: AppSpec; readonly attempt: number }
  | { readonly kind: "pull"; readonly spec: AppSpec; readonly source: ImageSource; readonly attempt: number }
  | CreateStep
  /** The old container makes way, and the new one takes its name and place. */
  | {
      readonly kind: "switch";
      readonly spec: AppSpec;
      readonly container: ObservedContainer;
      readonly others: readonly ObservedContainer[];
      /** Whether the new one is started: not for an app that is stopped. */
      readonly start: boolean;
    }
  | { readonly kind: "rename"; readonly app: string; readonly containerId: string }
  | { readonly kind: "stop"; readonly containerIds: readonly string[] }
  | { readonly kind: "start"; readonly spec: AppSpec; readonly containerId: string }
  | { readonly kind: "verify"; readonly spec: AppSpec; readonly containerId: string }
  | { readonly kind: "clean"; readonly containerIds: readonly string[] }
  | RecordStep;

export interface CreateStep {
  readonly kind: "create";
  readonly spec: AppSpec;
  /** Reference or id. */
  readonly image: string;
  /** The deployment whose label the container gets. */
  readonly deploymentId: string;
  /** Which of the app's container names it gets. */
  readonly place: "app" | "new_version";
  /** The image the app ran from before, which a rollback would need. */
  readonly previousImageId: string | undefined;
  /** Whether the image is fetched again where the engine has it no more, as after it was replaced by another. */
  readonly refetch: boolean;
}

/** Steps that are no more than what is stored. */
export type RecordStep =
  /** The end of a dry run: what it would have cost. */
  | { readonly kind: "report_cost"; readonly cost: PullCost }
  /** The new version is the app from here on. */
  | { readonly kind: "commit"; readonly app: AppRecord }
  /** What had been stored as the app is taken back. `app`: what it is again; `undefined` where there was none. */
  | { readonly kind: "revert"; readonly app: AppRecord | undefined; readonly superseded: boolean }
  /** `app`: what is stored as the app from here on. */
  | { readonly kind: "succeed"; readonly app: AppRecord | undefined; readonly result: SuccessKind }
  /** `app`: what it is again, where it was put right. */
  | { readonly kind: "fail"; readonly failure: Failure; readonly app: AppRecord | undefined };

/** What a success amounts to. */
export type SuccessKind = "installed" | "updated" | "unchanged" | "removed" | "stopped" | "started" | "restarted";

/** What the engine shows of one deployment's app. */
export interface Observed {
  /** Containers that carry the deployment's label. */
  readonly containers: readonly ObservedContainer[];
  /** Further containers of the same app: what earlier deployments left, the app's present container among them. */
  readonly others: readonly ObservedContainer[];
}

/**
 * What this run of the agent did, and never remembers over a restart: after one, a container that does not run is
 * started once more (the power may have been cut), and what runs is verified anew.
 */
export interface RunProgress {
  readonly startedContainerId: string | undefined;
  readonly verifiedContainerId: string | undefined;
  readonly stoppedContainerId: string | undefined;
  /** Where the image is to be had. Asked for again after a restart. */
  readonly source: ImageSource | undefined;
  /** How often its pull has failed. */
  readonly pullAttempts: number;
  /** The image was gone when the container was to be made of it, and is fetched once more. */
  readonly refetched?: boolean;
}
