import type { Store } from "../../../src/control-plane/store/store.ts";

/** Stores on one database as a single one: each call goes to one of the first two by chance. Disposing it disposes the first. */
export function alternatingStore([first, second]: readonly Store[], isFirst: () => boolean): Store {
  if (!first || !second) throw new Error("two stores are needed");
  return new Proxy(first, {
    get(_, name) {
      const [a, b] = [first, second].map((store) => Reflect.get(store, name) as unknown);
      if (typeof a !== "object" || a === null) return a;
      return new Proxy(a, {
        get: (__, method) => {
          const owner = isFirst() ? a : (b as object);
          const value = Reflect.get(owner, method) as unknown;
          return typeof value === "function" ? (value.bind(owner) as unknown) : value;
        },
      });
    },
  });
}
