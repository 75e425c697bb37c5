import type { LedgerStore } from "../core/traffic/ledger-store.ts";
import type { OutboxEvent } from "./outbox.ts";
import type { AppRecord, DeploymentRecord } from "../core/records.ts";
import type { HistoryEntry } from "./history.ts";
import type { AgentStore, StoreChange } from "./store.ts";

/** Notifies listeners of changes in the store it wraps. */
export class NotifyingStore implements AgentStore {
  readonly #inner: AgentStore;
  readonly #listeners = new Set<() => void>();
  readonly #watchers = new Set<(change: StoreChange) => void>();
  readonly #residualDataListeners = new Set<() => void>();

  /** Takes ownership of `inner`. */
  constructor(inner: AgentStore) {
    this.#inner = inner;
  }

  /** Calls `listener` after events were stored, until disposed. */
  onEvents(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Calls `watcher` with every change after it was stored, until disposed. It must not throw. */
  onChange(watcher: (change: StoreChange) => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => this.#watchers.delete(watcher) };
  }

  /** Calls `listener` after each write while the files contain residual data. */
  onResidualData(listener: () => void): Disposable {
    this.#residualDataListeners.add(listener);
    return { [Symbol.dispose]: () => this.#residualDataListeners.delete(listener) };
  }

  save(change: StoreChange): void {
    this.#inner.save(change);
    this.#notifyResidualData();
    for (const watcher of this.#watchers) watcher(change);
    if (!change.events?.length) return;
    for (const listener of this.#listeners) listener();
  }

  deployments(): readonly DeploymentRecord[] {
    return this.#inner.deployments();
  }

  deployment(id: string): DeploymentRecord | undefined {
    return this.#inner.deployment(id);
  }

  finalStatusOf(id: string): "Success" | "Fail" | undefined {
    return this.#inner.finalStatusOf(id);
  }

  isFull(): boolean {
    return this.#inner.isFull();
  }

  nextOrder(): number {
    return this.#inner.nextOrder();
  }

  get ledger(): LedgerStore {
    return this.#inner.ledger;
  }

  learnedValue(name: string): string | undefined {
    return this.#inner.learnedValue(name);
  }

  saveLearnedValue(name: string, value: string): void {
    this.#inner.saveLearnedValue(name, value);
  }

  apps(): readonly AppRecord[] {
    return this.#inner.apps();
  }

  history(limit: number): readonly HistoryEntry[] {
    return this.#inner.history(limit);
  }

  pendingEvents(position: number, limit: number): readonly OutboxEvent[] {
    return this.#inner.pendingEvents(position, limit);
  }

  fileContent(id: string): Buffer | undefined {
    return this.#inner.fileContent(id);
  }

  acknowledge(deploymentId: string, deviceSeq: number): void {
    this.#inner.acknowledge(deploymentId, deviceSeq);
    this.#notifyResidualData();
  }

  get hasResidualData(): boolean {
    return this.#inner.hasResidualData;
  }

  scrub(): void {
    this.#inner.scrub();
  }

  [Symbol.dispose](): void {
    this.#inner[Symbol.dispose]();
  }

  #notifyResidualData(): void {
    if (!this.#inner.hasResidualData) return;
    for (const listener of this.#residualDataListeners) listener();
  }
}
