/** A key that the database knows. */
export interface RegisteredKey {
  readonly id: string;
  readonly createdAtMs: number;
  readonly isCurrent: boolean;
}

/** Which keys the database's values are sealed with. The keys themselves are in the key file, never in the database. */
export interface SealingKeyStore {
  /** Returns all registered keys, the oldest first. */
  list(): Promise<readonly RegisteredKey[]>;
  /** Registers the key as one that does not seal, unless it is registered. */
  add(id: string, createdAtMs: number): Promise<void>;
  /** Makes a registered key the current one in the place of `from`. Returns false, and changes nothing, unless `from` is current. */
  setCurrent(from: string, to: string): Promise<boolean>;
  /** Forgets the key. Returns false, and changes nothing, if it is current or something is sealed with it. */
  removeUnused(id: string): Promise<boolean>;
  /** Returns how many variables, revisions and credentials are sealed with each key. Reads the index of all of them. */
  countUsed(): Promise<ReadonlyMap<string, number>>;
  /** Returns the id of the key that seals new values; `undefined` before the first service with a key file has started. */
  findCurrent(): Promise<string | undefined>;
  /** Registers the key as the current one, unless there is one. Returns the id of the current key afterwards. */
  register(id: string, createdAtMs: number): Promise<string>;
  /** As `register`, and replaces another current key while nothing is sealed. */
  registerOrReplaceUnused(id: string, createdAtMs: number): Promise<string>;
  /** Returns the ids of all keys that a variable, a revision or credentials are sealed with. */
  listUsed(): Promise<readonly string[]>;
}
