import type { Store } from "../../../src/control-plane/store/store.ts";

/** Called before and after each call of the store, which waits for it. */
export type Delay = () => Promise<void>;

const STORE_PARTS: ReadonlySet<PropertyKey> = new Set<keyof Store>([
  "accounts",
  "keys",
  "assets",
  "sims",
  "networkGroups",
  "usage",
  "deployments",
  "devices",
  "enrolments",
]);

/**
 * Wraps a store like a remote database: every call is delayed before and after its work, so that concurrent calls
 * interleave. Each call stays atomic.
 */
export function delayedStore(store: Store, delay: Delay): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (STORE_PARTS.has(name)) return delayedCalls(value as object, delay);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Delays every call of the object's methods, all of which return promises. */
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
