import { type AgentStore, type StoreChange, StoreError } from "../../../src/agent/store/store.ts";
import type { EventContent } from "../../../src/protocol/deployment-event.ts";

/**
 * Counts the moments at which a process can die, and dies at some of them: nothing it does afterwards has any effect,
 * until it is revived.
 */
export class CrashInjector {
  /** Moments passed since the last revival. */
  count = 0;
  hasCrashed = false;
  /** Lets every moment pass uncounted, until it wakes. */
  isDisabled = false;
  readonly #at: number[];

  /** @param at the moment of each life at which it ends; lives beyond them go on */
  constructor(...at: number[]) {
    this.#at = at;
  }

  /** A moment passes. Throws when the process dies at it, or is dead. */
  checkpoint(): void {
    if (this.isDisabled) return;
    if (this.hasCrashed) throw new StoreError("other", "dead");
    if (++this.count !== this.#at[0]) return;
    this.hasCrashed = true;
    throw new StoreError("other", "killed");
  }

  /** The next life begins. */
  reset(): void {
    this.#at.shift();
    this.count = 0;
    this.hasCrashed = false;
  }
}

/**
 * A store whose writes are moments to die at, before and after. Reads are not: nothing follows from them that a write
 * does not show. `written` is given each event that is on disk.
 */
export function withCrashPoints(
  store: AgentStore,
  reaper: CrashInjector,
  written: (deploymentId: string, event: EventContent) => void,
): AgentStore {
  const wrapped: Pick<AgentStore, "save" | "acknowledge"> = {
    save(change: StoreChange) {
      reaper.checkpoint();
      store.save(change);
      for (const event of change.events ?? []) written(change.deployment?.id ?? "", event);
      reaper.checkpoint();
    },
    acknowledge(deploymentId, deviceSeq) {
      reaper.checkpoint();
      store.acknowledge(deploymentId, deviceSeq);
      reaper.checkpoint();
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
