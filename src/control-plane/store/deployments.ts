import type { DeploymentEvent } from "../../protocol/deployment-event.ts";
import type { DeploymentChange, Deployment, DeploymentSummary, UndeliveredDeployment } from "../core/deployment.ts";
import type { DeploymentCursor } from "../core/deployment-cursor.ts";
import type { AuditEntry } from "./audit.ts";
import type { SessionFence } from "./sessions.ts";

/** Identifies repetitions of a request. */
export interface Idempotency {
  /** Chosen by the client; unique within the account. */
  readonly key: string;
  /** Hash of the whole request. */
  readonly requestHash: Uint8Array;
}

export type CreateResult =
  | { readonly kind: "created"; readonly deployment: Deployment }
  /** The key was used for the same request before, which created this deployment. */
  | { readonly kind: "repeated"; readonly id: string }
  /** The key was used for another request. */
  | { readonly kind: "conflict" }
  /** The account's storage quota would be exceeded. */
  | { readonly kind: "quota_exceeded"; readonly usedBytes: number }
  /** The asset has too many unfinished deployments. */
  | { readonly kind: "too_many_running" };

/** Limits for a new deployment. */
export interface CreationLimits {
  /** Maximum size of the account's deployments including this one, in bytes. */
  readonly maxAccountBytes: number;
  /** Maximum number of unfinished deployments of the asset including this one. */
  readonly maxRunningPerAsset: number;
}

/** Maximum size of the events of one read, in bytes, unless the first alone is larger. */
export const MAX_BATCH_BYTES = 32 * 1024;

/** Size of specifications after which a page of deployments ends early, in bytes. */
export const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** Maximum length of a list of what waits for devices. What is left out follows when the first of it is settled. */
export const MAX_UNDELIVERED = 1_000;

/** An event in its stored form. */
export interface StoredEvent {
  readonly seq: number;
  /** One `DeploymentEvent` in JSON. */
  readonly json: string;
}

/** Events of a deployment, and what was true when they were read. */
export interface EventBatch {
  readonly events: readonly StoredEvent[];
  /** Whether later events may be stored already, which did not fit. */
  readonly hasMore: boolean;
  /** Whether the deployment has ended, or there is none: no events follow those that are stored. */
  readonly isOver: boolean;
}

export interface DeploymentPage {
  /** Newest first. */
  readonly deployments: readonly Deployment[];
  /** Position of the next page; `undefined` on the last page. */
  readonly next: DeploymentCursor | undefined;
}

export interface ExpiredDeployments {
  /** The deployments that were due, as they are afterwards. */
  readonly expired: readonly Deployment[];
  /** When the next deadline expires, in service time; it may have passed. `undefined`: there is none. */
  readonly nextDueMs: number | undefined;
}

export interface DeploymentStore {
  /**
   * Stores a new deployment, at version 1, with its first event, if the limits allow it. In the same transaction the change
   * is applied that `receive` returns for it, given whether its device is connected; it must be pure.
   */
  createDeployment(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency?: Idempotency,
    limits?: CreationLimits,
    receive?: (deployment: Deployment) => DeploymentChange | undefined,
    audit?: AuditEntry,
  ): Promise<CreateResult>;
  findDeployment(id: string): Promise<Deployment | undefined>;
  /** Returns the sequence number of the last event of each of these deployments that exists. */
  findLastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Like `findDeployment`, but cheap even for large deployments. */
  findSummary(id: string): Promise<DeploymentSummary | undefined>;
  /** Returns at most `limit` deployments, fewer if `MAX_PAGE_BYTES` is reached. */
  listDeployments(assetUuid: string, limit: number, after?: DeploymentCursor): Promise<DeploymentPage>;
  /** Returns deployments without a final event, of one asset or of all, oldest first. */
  listUnfinished(assetUuid?: string): Promise<readonly Deployment[]>;
  /** Returns at most `limit` deployments of the asset that ended while `asked` or `overdue`, oldest first. */
  listEndedUncertain(assetUuid: string, limit: number): Promise<readonly Deployment[]>;
  /**
   * Returns the deployments of which something waits for the device, in the order in which they were stored, at most
   * `MAX_UNDELIVERED`. Throws `StaleSessionError` if `fence` is given and no longer the device's session.
   */
  listUndelivered(assetUuid: string, fence?: SessionFence): Promise<readonly UndeliveredDeployment[]>;
  /** Returns the assets for whose device, held by this instance, something waits; at most `MAX_UNDELIVERED`. */
  listUndeliveredAssets(instanceId: string): Promise<readonly string[]>;
  /** Like `listUnfinished`, but cheap even for large deployments. */
  listUnfinishedSummaries(assetUuid: string): Promise<readonly DeploymentSummary[]>;
  /**
   * Applies the change that `decide` returns for the stored deployment, or none for `undefined`, and increments the
   * version. `decide` must be pure: if another change comes first, it is called again with the newer deployment, and only
   * its last result counts. Returns the deployment afterwards, or `undefined` if the id is unknown. Throws
   * `StaleSessionError`, and changes nothing, if `fence` is given and no longer the device's session. The entry of the audit
   * log is stored with a change only.
   *
   * Results of overlapping calls may arrive out of order; compare their versions.
   */
  updateDeployment(
    id: string,
    decide: (deployment: Deployment) => DeploymentChange | undefined,
    fence?: SessionFence,
    audit?: AuditEntry,
  ): Promise<Deployment | undefined>;
  /** Does the same for several deployments in one transaction. Returns those that exist, as they are afterwards. */
  updateDeployments(
    ids: readonly string[],
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Promise<readonly Deployment[]>;
  /**
   * Applies the changes that `decide` returns for deployments with a deadline that has passed, at most `limit`, the
   * earliest first, in one transaction. Of several callers at the same time one gets each deployment.
   *
   * @param serviceNowMs service time
   */
  expireDue(
    serviceNowMs: number,
    limit: number,
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Promise<ExpiredDeployments>;
  /** Returns events with a `seq` above `after`, in order, at most `limit` and `MAX_BATCH_BYTES`, but at least one. */
  readEvents(id: string, after: number, limit: number): Promise<EventBatch>;
  /**
   * Removes at most `limit` deployments that ended before this time (Unix milliseconds), with their events, oldest first.
   * Returns how many were removed.
   */
  removeFinished(beforeMs: number, limit: number): Promise<number>;
}
