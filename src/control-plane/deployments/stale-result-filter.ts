/**
 * Detects stale results of overlapping calls, which may arrive in any order. Keeps state only for objects with a call in
 * progress.
 */
export class StaleResultFilter {
  readonly #calls = new Map<string, { active: number; version: number }>();

  /** Registers a call that returns a version of the object. Must be disposed of after its result was handled. */
  begin(id: string): { readonly accept: (version: number) => boolean } & Disposable {
    const calls = this.#calls.get(id) ?? { active: 0, version: 0 };
    calls.active++;
    this.#calls.set(id, calls);
    return {
      /** Whether no newer version was accepted before. */
      accept(version) {
        const isNewest = version >= calls.version;
        calls.version = Math.max(calls.version, version);
        return isNewest;
      },
      [Symbol.dispose]: () => {
        if (--calls.active === 0) this.#calls.delete(id);
      },
    };
  }
}
