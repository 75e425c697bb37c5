import type { DeploymentEvent } from "../../protocol/deployment-event.ts";
import type { DeploymentChange, Deployment, DeploymentSummary } from "../core/deployment.ts";
import type { DeploymentCursor } from "../core/deployment-cursor.ts";

/** What makes a repeated request the same request. */
export interface Idempotency {
  /** Chosen by the client; unique within the account. */
  readonly key: string;
  /** Hash of everything that was asked for. */
  readonly requestHash: Uint8Array;
}

export type CreateResult =
  | { readonly kind: "created" }
  /** The key was used for the same request before: this is its deployment. */
  | { readonly kind: "repeated"; readonly id: string }
  /** The key was used for another request. */
  | { readonly kind: "conflict" }
  /** There is no room for it in its account. */
  | { readonly kind: "quota_exceeded"; readonly usedBytes: number }
  /** Too many of the asset have not ended. */
  | { readonly kind: "too_many_running" };

/** What a new deployment must keep to. */
export interface CreationLimits {
  /** Most bytes that the account's deployments take with this one. */
  readonly maxAccountBytes: number;
  /** Most deployments of the asset that have not ended, with this one. */
  readonly maxRunningPerAsset: number;
}

/** What events one read returns at the most, in bytes, unless the first alone is larger. */
export const MAX_BATCH_BYTES = 32 * 1024;

/** After so many bytes of specifications a page of deployments ends early. */
export const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** An event as it is stored and sent: a number and the JSON text. */
export interface StoredEvent {
  readonly seq: number;
  /** One `DeploymentEvent` in JSON. */
  readonly json: string;
}

export interface DeploymentPage {
  /** Newest first. */
  readonly deployments: readonly Deployment[];
  /** Where the next page begins; `undefined` on the last one. */
  readonly next: DeploymentCursor | undefined;
}

export interface DeploymentStore {
  /** Stores a new deployment, at version 1, together with its first event, within the bounds if there are any. */
  createDeployment(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency?: Idempotency,
    bounds?: CreationLimits,
  ): Promise<CreateResult>;
  findDeployment(id: string): Promise<Deployment | undefined>;
  /** The same, however large the deployment is, for little. */
  findSummary(id: string): Promise<DeploymentSummary | undefined>;
  /** At most `limit`, and fewer where they are so large that `MAX_PAGE_BYTES` is reached. */
  listDeployments(assetUuid: string, limit: number, after?: DeploymentCursor): Promise<DeploymentPage>;
  /** Deployments without a final event, of one asset or of all, oldest first. */
  listUnfinished(assetUuid?: string): Promise<readonly Deployment[]>;
  /** Deployments of the asset that ended while `asked` or `overdue`, oldest first, at most `limit`. */
  listEndedUncertain(assetUuid: string, limit: number): Promise<readonly Deployment[]>;
  /** Those of one asset, however large they are, for little. */
  listUnfinishedSummaries(assetUuid: string): Promise<readonly DeploymentSummary[]>;
  /**
   * Reads the deployment, lets `decide` say what is to change, and stores that with the next version, on the condition
   * that the version is still the one that was read. `decide` must be pure: where another change came first it is called
   * again, with the deployment as it is then, and only its last answer counts. It answers `undefined` when nothing is to
   * change. Answers the deployment as it is afterwards, or `undefined` when there is none of this id.
   *
   * Results of overlapping calls may arrive in another order than that of the changes; their versions tell.
   */
  updateDeployment(
    id: string,
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Promise<Deployment | undefined>;
  /** Events with a `seq` above `after`, in order, at most `limit` and `MAX_BATCH_BYTES`, but one if there is any. */
  readEvents(id: string, after: number, limit: number): Promise<readonly StoredEvent[]>;
  /**
   * Removes deployments that ended before this instant (Unix milliseconds), with their events, oldest first, at most
   * `limit`; never one without a final event. Answers how many.
   */
  removeFinished(beforeMs: number, limit: number): Promise<number>;
}
