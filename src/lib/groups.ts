/**
 * Values by key, in the order in which they were added. Made for very many keys with one value each: a set is kept only for a
 * key that has several.
 */
export class Groups<K, V extends object> {
  readonly #byKey = new Map<K, V | Set<V>>();

  /** Number of keys that have values. */
  get size(): number {
    return this.#byKey.size;
  }

  /** Adds a value, unless the key has it. Returns how many the key has then. */
  add(key: K, value: V): number {
    const found = this.#byKey.get(key);
    if (found instanceof Set) return found.add(value).size;
    if (found === undefined || found === value) {
      this.#byKey.set(key, value);
      return 1;
    }
    this.#byKey.set(key, new Set([found, value]));
    return 2;
  }

  delete(key: K, value: V): void {
    const found = this.#byKey.get(key);
    if (found instanceof Set) {
      found.delete(value);
      if (found.size === 0) this.#byKey.delete(key);
    } else if (found === value) this.#byKey.delete(key);
  }

  /** Returns a copy of the key's values. */
  of(key: K): readonly V[] {
    const found = this.#byKey.get(key);
    if (found instanceof Set) return [...found];
    return found === undefined ? [] : [found];
  }

  keys(): IterableIterator<K> {
    return this.#byKey.keys();
  }

  clear(): void {
    this.#byKey.clear();
  }
}
