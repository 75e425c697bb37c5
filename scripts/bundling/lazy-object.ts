/**
 * Returns an object that has the properties of what `load` returns, and calls it when the first one is read. The object
 * has no properties of its own: the bundler's `__toESM` would copy each of them for every module that imports it.
 *
 * Part of the bundles: see `lazyBuiltins`.
 */
export function lazyObject<T extends object>(load: () => T): T {
  const loaded = (): T => {
    const target = load();
    // From now on properties are found without the proxy.
    Object.setPrototypeOf(holder, target);
    return target;
  };
  const holder: object = Object.create(
    new Proxy(
      {},
      {
        get: (_, name) => (isAskedOfAnyModule(name) ? undefined : Reflect.get(loaded(), name)),
        has: (_, name) => !isAskedOfAnyModule(name) && Reflect.has(loaded(), name),
      },
    ),
  );
  return Object.create(holder) as T;
}

/** Read by `__toESM` and by `await import()` from every module. */
function isAskedOfAnyModule(name: string | symbol): boolean {
  return name === "__esModule" || name === "then";
}
