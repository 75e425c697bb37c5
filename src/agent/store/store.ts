import type { EventContent } from "../../protocol/deployment-event.ts";
import type { AppRecord, DeploymentRecord } from "../core/deployment/record.ts";
import type { LedgerStore } from "../ledger/entry.ts";
import type { OutboxEvent } from "./outbox.ts";
import type { HistoryEntry } from "./history.ts";

/** What changes together: all of it is on disk when `save` returns, or none of it. */
export interface StoreChange {
  /** Added, or replaced by id. */
  readonly deployment?: DeploymentRecord;
  /** Appended to the outbox of `deployment` in this order; a progress event replaces the one before it. */
  readonly events?: readonly EventContent[];
  /** Added, or replaced by name. */
  readonly app?: AppRecord;
  /** Name of an app to forget. */
  readonly removedApp?: string;
  /** Added to the history. Deployments enter it by themselves, with their final event. */
  readonly historyEntry?: HistoryEntry;
}

/** Values the agent learned, such as the keep-alive interval of a network, kept across restarts. */
export interface LearnedStore {
  /** The value under a name, or `undefined`. */
  learnedValue(name: string): string | undefined;
  /** Saves a value under a name. @throws StoreError when it cannot be written */
  saveLearnedValue(name: string, value: string): void;
}

/**
 * What the agent remembers over power cuts. Synchronous on purpose: the order of writes is the order of the code, and
 * nothing can be acknowledged or sent before the line that stored it has returned.
 */
export interface AgentStore extends LearnedStore, Disposable {
  /** Deployments whose end was not acknowledged yet, in order of acceptance. */
  deployments(): readonly DeploymentRecord[];
  deployment(id: string): DeploymentRecord | undefined;
  /** How a deployment ended, also long after that was acknowledged; the oldest ends are forgotten in time. */
  endOf(id: string): "Success" | "Fail" | undefined;
  /** Whether the disk has no room left for anything new: only what is going on can still be brought to its end. */
  isFull(): boolean;
  /** Number for the next deployment accepted, higher than any in the store. */
  nextOrder(): number;
  apps(): readonly AppRecord[];
  /** Bytes over the network. */
  readonly ledger: LedgerStore;
  /** The last `limit` things that happened, in order; deployments that go on come last, with the events they have. */
  history(limit: number): readonly HistoryEntry[];
  /** @throws StoreError when it could not be written; nothing has changed then. */
  save(change: StoreChange): void;
  /** Events after `position` (0 for all) that were not acknowledged, in order, at most `limit`. */
  pendingEvents(position: number, limit: number): readonly OutboxEvent[];
  /**
   * The control plane holds the deployment's events up to `deviceSeq`. With the final one among them the deployment
   * is forgotten. Earlier ones need not be remembered as acknowledged over a restart: sending twice does no harm.
   */
  acknowledge(deploymentId: string, deviceSeq: number): void;
  /** Whether its files still hold values that apps or deployments had, and that no record has any more. */
  readonly hasResidualData: boolean;
  /** Overwrites those. @throws StoreError when that cannot be done now */
  scrub(): void;
}

/** What is wrong with a store: its file is damaged, its disk is full, or anything else. */
export type StoreErrorKind = "damaged" | "full" | "other";

/** The store could not be read or written. Carries the cause; the message is for the technician. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.kind = kind;
  }
}
