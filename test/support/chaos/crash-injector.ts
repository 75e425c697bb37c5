import { type AgentStore, type StoreChange, StoreError } from "../../../src/agent/store/store.ts";
import type { EventContent } from "../../../src/protocol/deployment-event.ts";

/**
 * Simulates crashes of a process at chosen checkpoints. After a crash every checkpoint throws, so that the process has
 * no further effect, until `reset`.
 */
export class CrashInjector {
  /** Checkpoints passed since the last `reset`. */
  count = 0;
  hasCrashed = false;
  /** If true, checkpoints are neither counted nor crash. */
  isDisabled = false;
  readonly #at: number[];

  /** @param at the number of the checkpoint at which each run crashes; later runs do not crash */
  constructor(...at: number[]) {
    this.#at = at;
  }

  /** Counts a checkpoint. Throws when the process crashes at it, or has crashed. */
  checkpoint(): void {
    if (this.isDisabled) return;
    if (this.hasCrashed) throw new StoreError("other", "crashed before");
    if (++this.count !== this.#at[0]) return;
    this.hasCrashed = true;
    throw new StoreError("other", "crashed");
  }

  /** Begins the next run. */
  reset(): void {
    this.#at.shift();
    this.count = 0;
    this.hasCrashed = false;
  }
}

/**
 * Wraps a store with a checkpoint before and after each write. Reads have none, since only writes have effects that
 * survive. `written` is called with each stored event.
 */
export function withCrashPoints(
  store: AgentStore,
  crashes: CrashInjector,
  written: (deploymentId: string, event: EventContent) => void,
): AgentStore {
  const wrapped: Pick<AgentStore, "save" | "acknowledge"> = {
    save(change: StoreChange) {
      crashes.checkpoint();
      store.save(change);
      for (const event of change.events ?? []) written(change.deployment?.id ?? "", event);
      crashes.checkpoint();
    },
    acknowledge(deploymentId, deviceSeq) {
      crashes.checkpoint();
      store.acknowledge(deploymentId, deviceSeq);
      crashes.checkpoint();
    },
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "save" || name === "acknowledge") return wrapped[name];
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
