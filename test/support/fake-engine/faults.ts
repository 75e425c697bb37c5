import type { Engine, EngineNetworks, EngineVolumes } from "../../../src/agent/engine/engine.ts";
import type { EngineError } from "../../../src/agent/engine/engine-error.ts";

export type EngineMethod =
  | Exclude<keyof Engine, "networks" | "volumes">
  | `networks.${keyof EngineNetworks}`
  | `volumes.${keyof EngineVolumes}`;

/** A call to the fake engine, before or after its work is done. */
export interface EngineCall {
  readonly method: EngineMethod;
  readonly phase: "before" | "after";
  readonly args: readonly unknown[];
  readonly signal: AbortSignal;
}

/** Hook of a call. The call waits for it and throws what it throws. */
export type CallHook = (call: EngineCall) => void | Promise<void>;

/** Fault injection for the fake engine. */
export class Faults {
  readonly #hooks = new Set<CallHook>();

  /** Runs `hook` before and after every call, until disposed. */
  onCall(hook: CallHook): Disposable {
    this.#hooks.add(hook);
    return { [Symbol.dispose]: () => void this.#hooks.delete(hook) };
  }

  /** Fails the next calls of a method. `after`: the work is done, as when a response is lost. */
  fail(
    method: EngineMethod,
    error: EngineError,
    { times = 1, phase = "before" }: { times?: number; phase?: EngineCall["phase"] } = {},
  ): Disposable {
    let left = times;
    return this.onCall((call) => {
      if (call.method === method && call.phase === phase && left-- > 0) throw error;
    });
  }

  /** Blocks calls of a method until their signal aborts, or until disposed: then they continue. */
  hang(method: EngineMethod, phase: EngineCall["phase"] = "before"): Disposable & { readonly waiting: number } {
    const released = Promise.withResolvers<void>();
    let waiting = 0;
    const hook = this.onCall(async (call) => {
      if (call.method !== method || call.phase !== phase) return;
      waiting++;
      try {
        await Promise.race([released.promise, aborted(call.signal)]);
      } finally {
        waiting--;
      }
    });
    return {
      get waiting() {
        return waiting;
      },
      [Symbol.dispose]() {
        hook[Symbol.dispose]();
        released.resolve();
      },
    };
  }

  /** Runs an engine call between the hooks. */
  async around<T>(
    method: EngineMethod,
    args: readonly unknown[],
    signal: AbortSignal,
    work: () => T | Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    await this.#run({ method, phase: "before", args, signal });
    const result = await work();
    await this.#run({ method, phase: "after", args, signal });
    return result;
  }

  async #run(call: EngineCall): Promise<void> {
    for (const hook of this.#hooks) {
      await hook(call);
      call.signal.throwIfAborted();
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Throws in an expression. */
export function fail(error: EngineError): never {
  throw error;
}
