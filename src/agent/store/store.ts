import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import type { AppRecord, DeploymentRecord } from "../core/records.ts";
import type { LedgerStore } from "../core/traffic/ledger-store.ts";
import type { OutboxEvent } from "./outbox.ts";
import type { HistoryEntry } from "./history.ts";

/** An atomic change: all of it is on disk when `save` returns, or none of it. */
export interface StoreChange {
  /** Added, or replaced by id. */
  readonly deployment?: DeploymentRecord;
  /** Further deployments: those of a group's apps. Added, or replaced by id. */
  readonly children?: readonly DeploymentRecord[];
  /**
   * Appended to the outbox of `deployment`, or of its group, in this order; a progress event replaces the one before it.
   */
  readonly events?: readonly EventContent[];
  /** Added, or replaced by name. */
  readonly app?: AppRecord;
  /** Further apps. Added, or replaced by name. */
  readonly apps?: readonly AppRecord[];
  /** Name of an app to forget. */
  readonly removedApp?: string;
  /** Contents of files that the deployment or the app names, by their ids. */
  readonly fileContents?: ReadonlyMap<string, Uint8Array>;
  /** Added to the history. Deployments are added automatically with their final event. */
  readonly historyEntry?: HistoryEntry;
}

/** Values the agent learned, such as the keep-alive interval of a network, kept across restarts. */
export interface LearnedStore {
  /** The value under a name, or `undefined`. */
  learnedValue(name: string): string | undefined;
  /** Saves a value under a name. @throws StoreError when it cannot be written */
  saveLearnedValue(name: string, value: string): void;
}

/** Read-only view of the store. */
export interface StoreReader {
  /** Deployments whose end is not acknowledged yet, in order of acceptance. */
  deployments(): readonly DeploymentRecord[];
  apps(): readonly AppRecord[];
  /** The content of an app's file by its id; `undefined` if no record names it, or it is lost. */
  fileContent(id: string): Buffer | undefined;
  /** The last `limit` entries, in order; pending deployments come last, with their events so far. */
  history(limit: number): readonly HistoryEntry[];
}

/**
 * The agent's persistent state. Synchronous on purpose: writes happen in the order of the code, and nothing can be
 * acknowledged or sent before it is stored.
 */
export interface AgentStore extends StoreReader, LearnedStore, Disposable {
  deployment(id: string): DeploymentRecord | undefined;
  /** Final status of a deployment, from the history; `undefined` when unknown or no longer kept. */
  finalStatusOf(id: string): "Success" | "Fail" | undefined;
  /** Whether the disk is too full for new deployments; pending ones can still be finished. */
  isFull(): boolean;
  /** Number for the next deployment accepted, higher than any in the store. */
  nextOrder(): number;
  /** The stored traffic ledger. */
  readonly ledger: LedgerStore;
  /** @throws StoreError when it cannot be written; then nothing has changed */
  save(change: StoreChange): void;
  /** Unacknowledged events after `position` (0 for all), in order, at most `limit`. */
  pendingEvents(position: number, limit: number): readonly OutboxEvent[];
  /**
   * Marks the deployment's events up to `deviceSeq` as stored by the control plane. Removes the deployment, with those of
   * its group's apps, when the final event is among them. Earlier acknowledgements are lost with the process: sending an event twice is harmless.
   */
  acknowledge(deploymentId: string, deviceSeq: number): void;
  /** Whether the files still contain secret values that no record has any more. */
  readonly hasResidualData: boolean;
  /** Overwrites residual data. @throws StoreError when that fails */
  scrub(): void;
}

/** The file is damaged, or no store of this version; the disk is full; or any other error. */
export type StoreErrorKind = "damaged" | "full" | "other";

/** The store could not be read or written. The message is for the technician. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.kind = kind;
  }
}
