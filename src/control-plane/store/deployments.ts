import type { Deployment, DeploymentSummary, StoredEvent, UndeliveredDeployment } from "../core/deployment.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { DeploymentCursor } from "../core/cursor.ts";
import type { AuditEntry } from "./audit.ts";
import type { SessionFence } from "./sessions.ts";

/** Identifies repetitions of a request. */
export interface Idempotency {
  /** Chosen by the client; unique within the account. */
  readonly key: string;
  /** Hash of the whole request. */
  readonly requestHash: Uint8Array;
  /** Whether a repetition makes a new deployment once the earlier one has failed with this code. Default: it never does. */
  readonly isRetried?: (code: ErrorCode) => boolean;
}

export type CreateResult =
  | { readonly kind: "created" }
  /** The device has connected or gone since `after.holder` was read; this instance holds its session now. */
  | { readonly kind: "holder_changed"; readonly holder: string | undefined }
  /** The key was used for the same request before, which created this deployment. */
  | { readonly kind: "repeated"; readonly id: string }
  /** The key was used for another request, which created this deployment. */
  | { readonly kind: "conflict"; readonly id: string }
  /** The account's storage quota would be exceeded. */
  | { readonly kind: "quota_exceeded"; readonly usedBytes: number }
  /** The asset has too many unfinished deployments. */
  | { readonly kind: "too_many_running" };

/** A new deployment, to be stored in one transaction. */
export interface DeploymentCreation {
  /** The record as it is to be stored. Its `holder` must still be the one that is read in the transaction. */
  readonly after: Deployment;
  readonly events: readonly StoredEvent[];
  readonly idempotency?: Idempotency | undefined;
  readonly limits?: CreationLimits | undefined;
  /** Size of the specification in the request, which the limit counts: `after` may have it masked. */
  readonly specBytes: number;
  readonly audit?: AuditEntry | undefined;
}

/** A change of a deployment, to be stored in one transaction. */
export interface DeploymentUpdate {
  /** The record that the change was decided on. */
  readonly before: Deployment;
  readonly after: Deployment;
  readonly events: readonly StoredEvent[];
  /** The session for which it is changed. */
  readonly fence?: SessionFence | undefined;
  readonly audit?: AuditEntry | undefined;
}

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

/** Maximum length of a list of what waits for a device, where the rest follows once the first is settled, and of a page of devices. */
export const MAX_UNDELIVERED = 1_000;

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

/** Returns a page, whose last deployment the next page follows if there is one. */
export function toPage(deployments: readonly Deployment[], hasMore: boolean): DeploymentPage {
  const last = deployments.at(-1);
  return { deployments, next: hasMore && last ? { createdAtMs: last.createdAtMs, id: last.id } : undefined };
}

export interface DeploymentStore {
  /** Stores a new deployment with its events and its entry of the audit log, if the limits allow it. */
  createDeployment(creation: DeploymentCreation): Promise<CreateResult>;
  /** Returns the instance that holds the session of the asset's device. */
  findHolder(assetUuid: string): Promise<string | undefined>;
  /** Throws `StaleSessionError` if `fence` is given and no longer the device's session. */
  findDeployment(id: string, fence?: SessionFence): Promise<Deployment | undefined>;
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
  /**
   * Returns the assets for whose device, held by this instance, `listUndelivered` has something; at most `MAX_UNDELIVERED`, in
   * the order of their UUIDs, those that follow `after`.
   */
  listUndeliveredAssets(instanceId: string, after?: string): Promise<readonly string[]>;
  /** Like `listUnfinished`, but cheap even for large deployments. */
  listUnfinishedSummaries(assetUuid: string): Promise<readonly DeploymentSummary[]>;
  /**
   * Stores a change if the record is still at the version of `before`, and the session of `fence` is still the device's.
   * Returns whether it was stored. Results of overlapping calls may arrive out of order; compare versions.
   */
  updateDeployment(update: DeploymentUpdate): Promise<boolean>;
  /** Does the same for changes of different deployments, in one transaction. Returns the ids of those that were stored. */
  updateDeployments(updates: readonly DeploymentUpdate[]): Promise<ReadonlySet<string>>;
  /** Returns when the next deadline expires, in service time; it may have passed. `undefined`: there is none. */
  findNextDue(): Promise<number | undefined>;
  /** Returns deployments with a deadline that has passed by this service time, at most `limit`, the earliest first. */
  listDue(serviceNowMs: number, limit: number): Promise<readonly Deployment[]>;
  /** Returns events with a `seq` above `after`, in order, at most `limit` and `MAX_BATCH_BYTES`, but at least one. */
  readEvents(id: string, after: number, limit: number): Promise<EventBatch>;
  /**
   * Removes at most `limit` deployments that ended before this time (Unix milliseconds), with their events, oldest first.
   * Returns how many were removed.
   */
  removeFinished(beforeMs: number, limit: number): Promise<number>;
}
