import { Counter, Histogram, type Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import { StaleSessionError } from "../store/sessions.ts";
import { RECORD_STORES, type Store } from "../store/store.ts";

const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1, 5];

/** The same store, whose calls are measured by operation, such as `deployments.findDeployment`. */
export function measureStore(store: Store, clock: Pick<Clock, "monotonic">, registry: Registry): Store {
  const registers = [registry];
  const durations = new Histogram({
    name: "edge_control_store_call_duration_seconds",
    help: "Time of calls of the store, by operation.",
    labelNames: ["operation"],
    buckets: BUCKETS_S,
    registers,
  });
  const failures = new Counter({
    name: "edge_control_store_failures_total",
    help: "Calls of the store that failed, by operation.",
    labelNames: ["operation"],
    registers,
  });
  const measured = Object.fromEntries(
    // Their names and those of their methods are labels.
    RECORD_STORES.map((part) => [
      part,
      withCalls(store[part], (name, call) => {
        const labels = { operation: `${part}.${name}` };
        failures.inc(labels, 0);
        return async (...parameters) => {
          const startedAt = clock.monotonic();
          try {
            return await call(...parameters);
          } catch (error) {
            // The store works: it refuses a session that has been replaced.
            if (!(error instanceof StaleSessionError)) failures.inc(labels);
            throw error;
          } finally {
            durations.observe(labels, (clock.monotonic() - startedAt) / 1000);
          }
        };
      }),
    ]),
  );
  return replaceParts(store, measured);
}

/** The same store with other objects in place of some of its parts. */
export function replaceParts(store: Store, parts: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(parts, name)) return Reflect.get(parts, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

type Call = (...parameters: unknown[]) => Promise<unknown>;

/** Wraps each method of the object when it is first used. They all return promises. */
function withCalls<T extends object>(object: T, wrap: (name: string, call: Call) => Call): T {
  const wrapped = new Map<string, Call>();
  return new Proxy(object, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function" || typeof name !== "string") return method;
      const known = wrapped.get(name) ?? wrap(name, (...parameters) => method.apply(target, parameters));
      wrapped.set(name, known);
      return known;
    },
  });
}
