import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Repeat } from "../../lib/repeat.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { type BusKey, KEY_ID_BYTES, type SharedKeys } from "../bus/sealed/message-seal.ts";
import type { Sealer } from "./sealer.ts";
import type { StoredBusKey } from "../store/bus-keys.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";

/** How often the keys and the time of the database are read. */
const READ_INTERVAL_MS = 10_000;
/** At most this often for a key that is not known: any client of the bus can name one. */
const MIN_READ_INTERVAL_MS = 1_000;
/** A new key seals after this time, when all instances have read it. */
export const ACTIVE_AFTER_MS = 30_000;
export const ROTATE_AFTER_MS = 24 * 3_600_000;
/** How long an instance that could not read the database may go on with the key before. */
const KEEP_MS = 3_600_000;
const SECRET_BYTES = 32;

export interface BusKeysOptions {
  readonly store: Pick<Store, "busKeys" | "instances" | "sealingKeys">;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The keys that the instances share through their database, where the key file's key seals them, and the database's time. A new key
 * follows the one before each day, and when another key of the key file becomes the current one.
 */
export class BusKeys implements SharedKeys, Disposable {
  readonly #options: BusKeysOptions;
  #keys: ReadonlyMap<string, BusKey> = new Map();
  /** The newest first. */
  #stored: readonly StoredBusKey[] = [];
  /** Add it to the monotonic time. */
  #offsetMs = 0;
  #startedAtMs = 0;
  #readAtMs = -Infinity;
  #refreshing: Promise<void> | undefined;
  #unreadable: string | undefined;
  #repeat: Repeat | undefined;

  private constructor(options: BusKeysOptions) {
    this.#options = options;
  }

  /** Reads the keys, makes the first one, and follows them until disposed. Throws if the store cannot be read. */
  static async open(options: BusKeysOptions): Promise<BusKeys> {
    const keys = new BusKeys(options);
    await keys.#refresh();
    keys.#startedAtMs = keys.nowMs;
    keys.#repeat = new Repeat(options.clock, READ_INTERVAL_MS, () => keys.#refreshQuietly());
    return keys;
  }

  get nowMs(): number {
    return Math.floor(this.#options.clock.monotonic() + this.#offsetMs);
  }

  get startedAtMs(): number {
    return this.#startedAtMs;
  }

  /** The newest key that all instances have had the time to read. */
  get current(): BusKey | undefined {
    const known = this.#stored.filter(({ id }) => this.#keys.has(id));
    const active = known.find(({ createdAtMs }) => createdAtMs + ACTIVE_AFTER_MS <= this.nowMs) ?? known.at(-1);
    return active && this.#keys.get(active.id);
  }

  find(id: string): BusKey | undefined {
    const key = this.#keys.get(id);
    const { clock } = this.#options;
    if (!key && clock.monotonic() - this.#readAtMs >= MIN_READ_INTERVAL_MS) void this.#refreshQuietly();
    return key;
  }

  [Symbol.dispose](): void {
    this.#repeat?.[Symbol.dispose]();
  }

  async #refreshQuietly(): Promise<void> {
    try {
      await (this.#refreshing ??= this.#refresh());
    } catch (error) {
      logStoreError(
        this.#options.logger,
        error,
        {},
        "cannot read the keys of the bus; those that are known stay in use",
      );
    } finally {
      this.#refreshing = undefined;
    }
  }

  /** Reads the time of the database and the keys, and adds a key if one is due. */
  async #refresh(): Promise<void> {
    const { store, clock } = this.#options;
    this.#readAtMs = clock.monotonic();
    const { nowMs } = await store.instances.readTime();
    this.#offsetMs = nowMs - (this.#readAtMs + clock.monotonic()) / 2;
    await this.#readKeys();
    const [newest] = this.#stored;
    const isUsable = newest !== undefined && this.#keys.has(newest.id);
    const fileKeyId = await store.sealingKeys.findCurrent();
    if (isUsable && newest.keyId === fileKeyId && newest.createdAtMs + ROTATE_AFTER_MS > nowMs) return;
    await this.#add(nowMs, fileKeyId);
    await store.busKeys.removeBefore(nowMs - ROTATE_AFTER_MS - KEEP_MS);
    await this.#readKeys();
  }

  async #readKeys(): Promise<void> {
    this.#stored = await this.#options.store.busKeys.list();
    const keys = new Map<string, BusKey>();
    for (const stored of this.#stored) {
      const secret = this.#keys.get(stored.id)?.secret ?? this.#unseal(stored);
      if (secret) keys.set(stored.id, { id: stored.id, secret });
    }
    this.#keys = keys;
  }

  /** Several instances may do so at a time: each key is as good as the other. */
  async #add(nowMs: number, fileKeyId: string | undefined): Promise<void> {
    const { store, sealer, logger } = this.#options;
    const id = randomBytes(KEY_ID_BYTES).toString("hex");
    const secret = randomBytes(SECRET_BYTES);
    try {
      const sealed =
        fileKeyId === undefined
          ? { keyId: undefined, sealed: secret }
          : (await sealer.sealing())(secret, purposeOf(id));
      if (sealed.keyId === fileKeyId) await store.busKeys.add({ id, ...sealed, createdAtMs: nowMs });
    } catch (error) {
      // The sealer has logged that the key file lacks the current key: an instance that has it makes the key.
      if (!(error instanceof EdgeError)) throw error;
      logger.debug({ err: error }, "no new key of the bus");
    }
  }

  #unseal({ id, keyId, sealed }: StoredBusKey): Uint8Array | undefined {
    if (keyId === undefined) return sealed;
    try {
      return this.#options.sealer.open({ keyId, sealed }, purposeOf(id));
    } catch {
      // An older one may be sealed with a key that is not needed any more.
      if (id === this.#stored[0]?.id && this.#unreadable !== id) {
        this.#options.logger.error(
          { key_id: keyId },
          "a key of the bus cannot be opened, so that messages of other instances are refused: copy the key file of the instances",
        );
        this.#unreadable = id;
      }
      return undefined;
    }
  }
}

const purposeOf = (id: string): string => `key ${id} of the bus`;
