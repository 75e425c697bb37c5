/** The same object with one property replaced, such as a store of which one call is another one. */
export function withProperty<T extends object, K extends keyof T>(object: T, replaced: K, by: T[K]): T {
  return new Proxy(object, {
    get(target, name) {
      if (name === replaced) return by;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
