import { type AgentStore, type StoreChange, StoreError } from "../../../src/agent/store/store.ts";
import type { EventContent } from "../../../src/protocol/deployment-event.ts";

/**
 * Counts the moments at which a process can die, and dies at some of them: nothing it does afterwards has any effect,
 * until it is revived.
 */
export class Reaper {
  /** Moments passed since the last revival. */
  count = 0;
  isDead = false;
  /** Lets every moment pass uncounted, until it wakes. */
  isAsleep = false;
  readonly #at: number[];

  /** @param at the moment of each life at which it ends; lives beyond them go on */
  constructor(...at: number[]) {
    this.#at = at;
  }

  /** A moment passes. Throws when the process dies at it, or is dead. */
  pass(): void {
    if (this.isAsleep) return;
    if (this.isDead) throw new StoreError("other", "dead");
    if (++this.count !== this.#at[0]) return;
    this.isDead = true;
    throw new StoreError("other", "killed");
  }

  /** The next life begins. */
  revive(): void {
    this.#at.shift();
    this.count = 0;
    this.isDead = false;
  }
}

/**
 * A store whose writes are moments to die at, before and after. Reads are not: nothing follows from them that a write
 * does not show. `written` is given each event that is on disk.
 */
export function mortal(
  store: AgentStore,
  reaper: Reaper,
  written: (deploymentId: string, event: EventContent) => void,
): AgentStore {
  const wrapped: Pick<AgentStore, "save" | "acknowledge"> = {
    save(change: StoreChange) {
      reaper.pass();
      store.save(change);
      for (const event of change.events ?? []) written(change.deployment?.id ?? "", event);
      reaper.pass();
    },
    acknowledge(deploymentId, deviceSeq) {
      reaper.pass();
      store.acknowledge(deploymentId, deviceSeq);
      reaper.pass();
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
