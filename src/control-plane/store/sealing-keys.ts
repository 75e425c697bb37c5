/** Which keys the database's values are sealed with. The keys themselves are in the key file, never in the database. */
export interface SealingKeyStore {
  /** Returns the id of the key that seals new values; `undefined` before the first service with a key file has started. */
  findCurrent(): Promise<string | undefined>;
  /** Registers the key as the current one, unless there is one. Returns the id of the current key afterwards. */
  register(id: string, createdAtMs: number): Promise<string>;
  /** As `register`, and replaces another current key while nothing is sealed. */
  registerOrReplaceUnused(id: string, createdAtMs: number): Promise<string>;
  /** Returns the ids of all keys that a variable or a revision is sealed with. */
  listUsed(): Promise<readonly string[]>;
}
