import { type AgentStore, type StoreChange, StoreError } from "../../../src/agent/store/store.ts";
import type { EventContent } from "../../../src/protocol/deployments/deployment-event.ts";
import type { EngineCall, EngineMethod } from "../fake-engine/faults.ts";

/** Engine calls that change nothing. */
const READS: ReadonlySet<EngineMethod> = new Set<EngineMethod>([
  "info",
  "identify",
  "listContainers",
  "inspectContainer",
  "readContainerConfig",
  "readLastExit",
  "inspectImage",
  "layerChains",
  "listImages",
  "readImagePaths",
  "tailLogs",
  "networks.list",
  "networks.inspect",
  "volumes.find",
  "volumes.list",
]);

/**
 * Simulates crashes of a process at chosen moments. After a crash every checkpoint throws, so that the process has no further
 * effect, until `reset`.
 *
 * A moment begins with the first checkpoint after something has changed that outlasts the process, or time has passed. A crash
 * at a later checkpoint of the same moment would leave the same, so that none is tried there.
 */
export class CrashInjector {
  hasCrashed = false;
  /** If true, moments are neither counted nor crash. */
  isDisabled = false;
  readonly #hostState: () => unknown;
  readonly #at: number[];
  /** Moments since the last `reset`. */
  #count = 0;
  #hasChanged = true;
  #last: unknown;

  /**
   * @param hostState returns what a crash leaves besides what `changed` and `engineCall` tell of, such as the time
   * @param at the number of the moment at which each run crashes; later runs do not crash
   */
  constructor(hostState: () => unknown, ...at: number[]) {
    this.#hostState = hostState;
    this.#at = at;
  }

  /** A place at which the process may crash. Throws when it does, or has crashed. */
  checkpoint(): void {
    if (this.isDisabled) return;
    if (this.hasCrashed) throw new StoreError("other", "crashed before");
    const hostState = this.#hostState();
    if (!this.#hasChanged && hostState === this.#last) return;
    this.#hasChanged = false;
    this.#last = hostState;
    if (++this.#count !== this.#at[0]) return;
    this.hasCrashed = true;
    throw new StoreError("other", "crashed");
  }

  /** Something has changed that outlasts the process. */
  changed(): void {
    this.#hasChanged = true;
  }

  /** A checkpoint before a call to the engine takes effect, and after it, with the response lost. */
  engineCall({ method, phase }: Pick<EngineCall, "method" | "phase">): void {
    const changes = !READS.has(method);
    if (changes && phase === "after") this.changed();
    this.checkpoint();
    // From here on the engine carries it out, whatever becomes of the process.
    if (changes && phase === "before") this.changed();
  }

  /** Begins the next run. */
  reset(): void {
    this.#at.shift();
    this.#count = 0;
    this.#hasChanged = true;
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
  const wrapped: Pick<AgentStore, "save" | "acknowledge" | "saveLearnedValue"> = {
    save(change: StoreChange) {
      crashes.checkpoint();
      store.save(change);
      crashes.changed();
      for (const event of change.events ?? []) written(change.deployment?.id ?? "", event);
      crashes.checkpoint();
    },
    acknowledge(deploymentId, deviceSeq) {
      crashes.checkpoint();
      store.acknowledge(deploymentId, deviceSeq);
      crashes.changed();
      crashes.checkpoint();
    },
    saveLearnedValue(name, value) {
      store.saveLearnedValue(name, value);
      crashes.changed();
    },
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "save" || name === "acknowledge" || name === "saveLearnedValue") return wrapped[name];
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
