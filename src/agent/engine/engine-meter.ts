import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../lib/clock.ts";
import type { Engine } from "./engine.ts";

/** The time in which at least one call is in progress. Calls side by side count once. */
export class BusyTime {
  readonly #clock: Pick<Clock, "monotonic">;
  #calls = 0;
  #since = 0;
  #ms = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Milliseconds so far, up to now if a call is in progress. */
  get ms(): number {
    return this.#ms + (this.#calls > 0 ? this.#clock.monotonic() - this.#since : 0);
  }

  begin(): void {
    if (this.#calls++ === 0) this.#since = this.#clock.monotonic();
  }

  end(): void {
    if (--this.#calls === 0) this.#ms += this.#clock.monotonic() - this.#since;
  }
}

/**
 * Attributes calls to the engine to the work that makes them, through whatever lies in between: deployments share one
 * engine and run side by side.
 */
export class EngineMeter {
  readonly #work = new AsyncLocalStorage<BusyTime>();

  /** Runs `work`. Its calls to a measured engine count for `busy`. */
  run<T>(busy: BusyTime, work: () => T): T {
    return this.#work.run(busy, work);
  }

  /** Returns an engine that measures its calls. Those that return a stream are left out: its reader sets the pace. */
  measured(engine: Engine): Engine {
    const networks = this.#wrap(engine.networks);
    const volumes = this.#wrap(engine.volumes);
    return this.#wrap(engine, { networks, volumes });
  }

  #wrap<T extends object>(target: T, parts: Partial<T> = {}): T {
    return new Proxy(target, {
      get: (_target, key) => {
        if (Object.hasOwn(parts, key)) return parts[key as keyof T];
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        return (...parameters: unknown[]): unknown => this.#count(Reflect.apply(value, target, parameters));
      },
    });
  }

  #count(result: unknown): unknown {
    const busy = result instanceof Promise ? this.#work.getStore() : undefined;
    if (!busy || !(result instanceof Promise)) return result;
    busy.begin();
    return result.finally(() => busy.end());
  }
}
