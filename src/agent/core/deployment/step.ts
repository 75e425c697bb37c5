import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { ImageSource, PresentImage, PullCost } from "../image/image.ts";
import type { AppRecord, Failure, ObservedContainer, SuccessKind } from "../records.ts";

/** One idempotent operation of a deployment. Each kind has an executor in `agent/steps`, except record steps. */
export type Step =
  | { readonly kind: "check"; readonly spec: AppSpec }
  /**
   * `attempt`: 1 for the first. `present`: what the check has just learned of the image on the device, `null` if there is
   * none; absent if that must be asked.
   */
  | {
      readonly kind: "resolve";
      readonly spec: AppSpec;
      readonly attempt: number;
      readonly present?: PresentImage | null;
    }
  /** Fetches contents of files from the service. */
  | { readonly kind: "fetch" }
  | { readonly kind: "pull"; readonly spec: AppSpec; readonly source: ImageSource; readonly attempt: number }
  | CreateStep
  /** Stops the old version's container and starts the new one's under the app's name. */
  | {
      readonly kind: "switch";
      readonly spec: AppSpec;
      readonly container: ObservedContainer;
      readonly others: readonly ObservedContainer[];
      /** Whether the new version is started: not for a stopped app. */
      readonly start: boolean;
    }
  /** Tries, while the app runs, what the start after its stop needs. `image`: reference or id. */
  | { readonly kind: "try"; readonly spec: AppSpec; readonly image: string }
  | { readonly kind: "rename"; readonly app: string; readonly containerId: string }
  | { readonly kind: "stop"; readonly containerIds: readonly string[] }
  | { readonly kind: "start"; readonly spec: AppSpec; readonly containerId: string }
  /** `networks`: of the engine, that the container is to join. */
  | {
      readonly kind: "connect";
      readonly spec: AppSpec;
      readonly containerId: string;
      readonly networks: readonly string[];
    }
  | { readonly kind: "verify"; readonly spec: AppSpec; readonly containerId: string }
  /** `isGentle`: what runs gets the time to end. */
  | { readonly kind: "clean"; readonly containerIds: readonly string[]; readonly isGentle?: true }
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
  /** The image before the last update, which a rollback would need. */
  readonly previousImageId: string | undefined;
  /** Whether the image is pulled again if the engine does not have it, as after the engine was replaced. */
  readonly refetch: boolean;
}

/** Steps that only write to the store. */
export type RecordStep =
  /** Ends a dry run with the cost. */
  | { readonly kind: "report_cost"; readonly cost: PullCost; readonly imageCheck?: ImageCheck | undefined }
  /** Stores the new version as the app. */
  | { readonly kind: "commit"; readonly app: AppRecord }
  /** Takes the stored result back. `app`: the previous record; `undefined` if there was none. */
  | { readonly kind: "revert"; readonly app: AppRecord | undefined; readonly superseded: boolean }
  /** `app`: the record to store; `undefined` to keep it, or to remove it for the result `removed`. */
  | {
      readonly kind: "succeed";
      readonly app: AppRecord | undefined;
      readonly result: SuccessKind;
      readonly imageCheck?: ImageCheck | undefined;
    }
  /** `app`: the restored record, if the rollback changed the app. */
  | { readonly kind: "fail"; readonly failure: Failure; readonly app: AppRecord | undefined };

/**
 * What the registry said of the image on the device: that its tag means this image, or nothing, as it could not be
 * asked. Absent if it was not asked.
 */
export type ImageCheck = "confirmed" | "unknown";

/** The containers of one deployment's app as the engine lists them. */
export interface Observed {
  /** Containers that carry the deployment's label. */
  readonly containers: readonly ObservedContainer[];
  /** Further containers of the same app, from earlier deployments, the installed version's among them. */
  readonly others: readonly ObservedContainer[];
}

/**
 * What this process has done for a deployment. Lost with a restart: then a container that does not run is started again
 * (the power may have been cut), and one that runs is verified again.
 */
export interface RunProgress {
  readonly startedContainerId: string | undefined;
  readonly verifiedContainerId: string | undefined;
  readonly stoppedContainerId: string | undefined;
  /** Whether it was tried, while the app runs, that the start would succeed. */
  readonly isTried?: boolean;
  /** Where the image comes from. Resolved again after a restart. */
  readonly source: ImageSource | undefined;
  readonly imageCheck?: ImageCheck;
  /** What the check found on the device under the image's name; `null`: nothing. Forgotten when the image is missing later. */
  readonly present?: PresentImage | null | undefined;
  /** Number of failed pulls. */
  readonly pullAttempts: number;
  /** The image was missing when the container was created, and is pulled once more. */
  readonly refetched?: boolean;
}
