import type { Sealed } from "./asset-settings.ts";

/** A key with which the instances seal what they tell each other. */
export interface StoredBusKey {
  readonly id: string;
  /** The key of the key file that `sealed` is sealed with; `undefined`: there is no key file, and `sealed` is the key itself. */
  readonly keyId: Sealed["keyId"] | undefined;
  readonly sealed: Uint8Array;
  /** In the time of the database. */
  readonly createdAtMs: number;
}

/** The keys that the instances of this store share. */
export interface BusKeyStore {
  /** Returns all keys, the newest first. */
  list(): Promise<readonly StoredBusKey[]>;
  add(key: StoredBusKey): Promise<void>;
  /** Removes the keys that were made before. */
  removeBefore(createdAtMs: number): Promise<void>;
}
