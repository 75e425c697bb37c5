/** Connections of one device that may be open: its session, and some that it left and that are not closed yet. */
export const MAX_CONNECTIONS_PER_ASSET = 4;

/** Every open connection, also those that have not said hello or were replaced. */
export class ConnectionRegistry<S extends { readonly assetUuid: string }> {
  readonly #all = new Set<S>();
  /** Of each device, those that were not given up, the oldest first. */
  readonly #byAsset = new Map<string, Set<S>>();

  /** Answers the oldest of the same device where this is one too many. It is given up, and has to be cut. */
  add(session: S): S | undefined {
    const { assetUuid } = session;
    const kept = this.#byAsset.get(assetUuid) ?? new Set();
    this.#byAsset.set(assetUuid, kept.add(session));
    this.#all.add(session);
    if (kept.size <= MAX_CONNECTIONS_PER_ASSET) return undefined;
    const [oldest] = kept;
    if (oldest) kept.delete(oldest);
    return oldest;
  }

  delete(session: S): void {
    this.#all.delete(session);
    const kept = this.#byAsset.get(session.assetUuid);
    kept?.delete(session);
    if (kept?.size === 0) this.#byAsset.delete(session.assetUuid);
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<S> {
    return this.#all.values();
  }
}
