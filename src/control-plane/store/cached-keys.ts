import type { ApiKey, KeyStore } from "./accounts.ts";

/** Maximum number of cached keys. */
const MAX_KEYS = 10_000;

/**
 * Keeps the keys that requests use in memory. A change is seen by the next request: one of this process empties
 * the cache, and one of another process is noticed by the version, which is read once in each turn of the event loop.
 */
export class CachedKeyStore implements KeyStore {
  readonly #keys: KeyStore;
  readonly #readVersion: () => number;
  readonly #onChanged: () => void;
  /** By their hashes as text. */
  readonly #byName = new Map<string, ApiKey>();
  readonly #nameById = new Map<string, string>();
  #version: number | undefined;
  /** Whether the version was read in this turn of the event loop. */
  #isChecked = false;
  /** Increases with each change of this process, so that what was read before it is not kept. */
  #changes = 0;

  /**
   * @param readVersion returns a number that changes when another process has changed a key
   * @param onChanged called when this process may have taken the access of a key away
   */
  constructor(keys: KeyStore, readVersion: () => number, onChanged: () => void = () => {}) {
    this.#keys = keys;
    this.#readVersion = readVersion;
    this.#onChanged = onChanged;
  }

  async findKeyByHash(hash: Uint8Array): Promise<ApiKey | undefined> {
    this.#checkVersion();
    const name = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("latin1");
    const cached = this.#byName.get(name);
    if (cached) return cached;
    const [version, changes] = [this.#version, this.#changes];
    const found = await this.#keys.findKeyByHash(hash);
    // Unknown keys are not kept: a client can make up any number of them.
    if (found && version === this.#version && changes === this.#changes) this.#keep(name, found);
    return found;
  }

  recordKeyUse(id: string, at: number): Promise<void> {
    return this.#run(
      () => this.#keys.recordKeyUse(id, at),
      () => this.#drop(id),
    );
  }

  revokeKey(...call: Parameters<KeyStore["revokeKey"]>): Promise<boolean> {
    return this.#change(() => this.#keys.revokeKey(...call));
  }

  /** Ended keys that it forgets may stay in memory: they are refused as they are. */
  createKey(...call: Parameters<KeyStore["createKey"]>): ReturnType<KeyStore["createKey"]> {
    return this.#keys.createKey(...call);
  }

  changeKey(...call: Parameters<KeyStore["changeKey"]>): ReturnType<KeyStore["changeKey"]> {
    return this.#change(() => this.#keys.changeKey(...call));
  }

  findKey(id: string): Promise<ApiKey | undefined> {
    return this.#keys.findKey(id);
  }

  listKeys(accountId?: string): Promise<readonly ApiKey[]> {
    return this.#keys.listKeys(accountId);
  }

  /** Forgets what is in memory: this process has changed keys in another way. */
  clear(): void {
    this.#changes++;
    this.#byName.clear();
    this.#nameById.clear();
  }

  /** Keys that the key has made may change with it. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    return this.#run(work, () => {
      this.clear();
      this.#onChanged();
    });
  }

  async #run<T>(work: () => Promise<T>, forget: () => void): Promise<T> {
    try {
      return await work();
    } finally {
      this.#changes++;
      forget();
    }
  }

  #keep(name: string, found: ApiKey): void {
    const oldest = this.#nameById.size >= MAX_KEYS ? this.#nameById.keys().next().value : undefined;
    if (oldest !== undefined) this.#drop(oldest);
    this.#byName.set(name, found);
    this.#nameById.set(found.id, name);
  }

  #drop(id: string): void {
    const name = this.#nameById.get(id);
    if (name !== undefined) this.#byName.delete(name);
    this.#nameById.delete(id);
  }

  #checkVersion(): void {
    if (this.#isChecked) return;
    this.#isChecked = true;
    setImmediate(() => {
      this.#isChecked = false;
    });
    const version = this.#readVersion();
    if (version === this.#version) return;
    this.#version = version;
    this.#byName.clear();
    this.#nameById.clear();
  }
}
