/**
 * Knows which of several results of overlapping calls is the newest, although they arrive in any order. Nothing is
 * remembered of an object that no call is under way for.
 */
export class StaleResultFilter {
  readonly #calls = new Map<string, { underWay: number; version: number }>();

  /**
   * Begins a call that leads to a version of the object. Dispose of it once its result has been dealt with.
   */
  begin(id: string): { readonly accept: (version: number) => boolean } & Disposable {
    const calls = this.#calls.get(id) ?? { underWay: 0, version: 0 };
    calls.underWay++;
    this.#calls.set(id, calls);
    return {
      /** Whether no newer version has been accepted by then. */
      accept(version) {
        const isNewest = version >= calls.version;
        calls.version = Math.max(calls.version, version);
        return isNewest;
      },
      [Symbol.dispose]: () => {
        if (--calls.underWay === 0) this.#calls.delete(id);
      },
    };
  }
}
