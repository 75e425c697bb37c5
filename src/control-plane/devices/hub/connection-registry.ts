import { Groups } from "../../../lib/groups.ts";

/** Maximum number of open connections of one device: its session, and earlier ones that are not closed yet. */
export const MAX_CONNECTIONS_PER_ASSET = 4;

/** All open connections, including those without a hello and those that were replaced. */
export class ConnectionRegistry<S extends { readonly assetUuid: string }> {
  readonly #all = new Set<S>();
  /** The connections of each device without those given up, oldest first. */
  readonly #byAsset = new Groups<string, S>();

  /** Adds a connection. Returns the device's oldest one if there are too many; the caller must terminate it. */
  add(session: S): S | undefined {
    const { assetUuid } = session;
    this.#all.add(session);
    if (this.#byAsset.add(assetUuid, session) <= MAX_CONNECTIONS_PER_ASSET) return undefined;
    const [oldest] = this.#byAsset.of(assetUuid);
    if (oldest) this.#byAsset.delete(assetUuid, oldest);
    return oldest;
  }

  delete(session: S): void {
    this.#all.delete(session);
    this.#byAsset.delete(session.assetUuid, session);
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<S> {
    return this.#all.values();
  }
}
