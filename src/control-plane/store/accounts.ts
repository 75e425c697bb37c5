/** Times are Unix seconds. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

/** What an account takes of what is bounded. */
export interface AccountUsage {
  /** What its deployments take with their events, in bytes. */
  readonly storedBytes: number;
  readonly assets: number;
}

/** An API key without the secret, which is not kept. Times are Unix seconds. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | undefined;
  readonly revokedAt: number | undefined;
}

export interface AccountStore {
  createAccount(account: Account): Promise<void>;
  findAccount(id: string): Promise<Account | undefined>;
  /** What the account's deployments take and how many assets it has; nothing where there is no such account. */
  findUsage(id: string): Promise<AccountUsage>;
  /** In order of creation. */
  listAccounts(): Promise<readonly Account[]>;
}

export interface KeyStore {
  /** @param hash of the secret; unique. Throws when there is no such account. */
  createKey(key: ApiKey, hash: Uint8Array): Promise<void>;
  /** The key with this hash and the hash as stored, also when it was revoked. */
  findKeyByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly hash: Uint8Array } | undefined>;
  findKey(id: string): Promise<ApiKey | undefined>;
  /** In order of creation; of one account or of all. */
  listKeys(accountId?: string): Promise<readonly ApiKey[]>;
  recordKeyUse(id: string, at: number): Promise<void>;
  /** Answers whether there is such a key. Revoking a revoked one keeps the first time. */
  revokeKey(id: string, at: number): Promise<boolean>;
}
