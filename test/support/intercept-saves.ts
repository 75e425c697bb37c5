import type { AgentStore, StoreChange } from "../../src/agent/store/store.ts";

/** Calls `onSave` before each `save` of the store. If it throws, `save` throws the same and nothing is written. */
export function interceptSaves(
  store: AgentStore,
  { onSave }: { readonly onSave: (change: StoreChange) => void },
): AgentStore {
  return new Proxy(store, {
    get(target, key) {
      if (key === "save") {
        return (change: StoreChange): void => {
          onSave(change);
          target.save(change);
        };
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
