import { RECORD_STORES, type Store } from "../../../src/control-plane/store/store.ts";

/** Resolves after the simulated delay; called before and after each call of the store. */
export type Delay = () => Promise<void>;

const DELAYED: ReadonlySet<PropertyKey> = new Set(RECORD_STORES);

/**
 * The same store with the delays of a remote database: every call is delayed before and after it is carried out, so
 * that calls overtake each other between the awaits of their callers. Each call by itself stays atomic.
 */
export function delayedStore(store: Store, delay: Delay): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (DELAYED.has(name)) return delayedCalls(value as object, delay);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Delays every call of the object's methods, which must all return promises. */
function delayedCalls<T extends object>(object: T, delay: Delay): T {
  return new Proxy(object, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...parameters: unknown[]): Promise<unknown> => {
        await delay();
        try {
          return await (method.apply(target, parameters) as Promise<unknown>);
        } finally {
          await delay();
        }
      };
    },
  });
}
