import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Sealed } from "../store/asset-settings.ts";
import type { SealingKeyStore } from "../store/sealing-keys.ts";
import { AesSealer, type SealingKey } from "./aes-sealer.ts";
import { KeyFileError, readKeyFile } from "./key-file.ts";
import type { Seal, Sealer } from "./sealer.ts";

/** How long the current key of the database is taken for granted. */
const CURRENT_MS = 1000;

export interface KeyLogger {
  error(fields: object, message: string): void;
}

interface FollowingSealerOptions {
  readonly path: string;
  readonly keys: readonly [SealingKey, ...SealingKey[]];
  readonly sealingKeys: Pick<SealingKeyStore, "findCurrent">;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: KeyLogger | undefined;
}

/**
 * Seals with the key that is current in the database, and reads the key file again when it meets a key that it does not know: a
 * rotation takes hold within a second, without a restart.
 */
export class FollowingSealer implements Sealer {
  readonly #options: FollowingSealerOptions;
  #keys: ReadonlyMap<string, SealingKey>;
  #current: { readonly id: string | undefined; readonly readAtMs: number } | undefined;
  #lastMiss: { readonly id: string; readonly atMs: number } | undefined;

  constructor(options: FollowingSealerOptions) {
    this.#options = options;
    this.#keys = byId(options.keys);
  }

  async sealing(): Promise<Seal> {
    const id = await this.#findCurrent();
    const key = id === undefined ? undefined : this.#find(id);
    if (key) return new AesSealer(key).sealing();
    const { path, logger } = this.#options;
    logger?.error(
      { key_id: id, path },
      "nothing can be sealed: the key file lacks the current key; copy the rotated file",
    );
    throw new EdgeError("ServiceUnavailable", "The file with keys of this service lacks the current one.");
  }

  open(value: Sealed, purpose: string): Uint8Array {
    const key = this.#find(value.keyId);
    // Any of the keys says that the key is missing.
    return new AesSealer(key ?? this.#options.keys[0]).open(value, purpose);
  }

  async #findCurrent(): Promise<string | undefined> {
    const { clock, sealingKeys } = this.#options;
    // Before the query: its answer may be as old as its start.
    const readAtMs = clock.monotonic();
    if (this.#current && readAtMs - this.#current.readAtMs < CURRENT_MS) return this.#current.id;
    const id = await sealingKeys.findCurrent();
    this.#current = { id, readAtMs };
    return id;
  }

  /** Reads the file at most once a second for a key that is not in it: a list may have many values that it seals. */
  #find(id: string): SealingKey | undefined {
    const known = this.#keys.get(id);
    if (known) return known;
    const atMs = this.#options.clock.monotonic();
    if (this.#lastMiss?.id === id && atMs - this.#lastMiss.atMs < CURRENT_MS) return undefined;
    const keys = this.#read();
    // Those that were read before stay: an older file in its place must not take away what could be opened.
    this.#keys = new Map([...this.#keys, ...byId(keys)]);
    const found = this.#keys.get(id);
    this.#lastMiss = found ? undefined : { id, atMs };
    return found;
  }

  #read(): readonly SealingKey[] {
    const { path, logger } = this.#options;
    try {
      return readKeyFile(path) ?? [];
    } catch (error) {
      if (!(error instanceof KeyFileError)) throw error;
      logger?.error({ path }, error.message);
      return [];
    }
  }
}

function byId(keys: readonly SealingKey[]): ReadonlyMap<string, SealingKey> {
  return new Map(keys.map((key) => [key.id, key]));
}
