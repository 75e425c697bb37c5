import type { KeyBounds } from "../core/people/key-limits.ts";
import type { Role } from "../core/people/roles.ts";
import type { Permission } from "../core/permission.ts";
import type { AuditEntry } from "./audit.ts";
import type { Precondition } from "./precondition.ts";

/** Times are Unix seconds. */
export interface Account {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
}

/** What counts towards the quotas of an account. */
export interface AccountUsage {
  /** Size of its deployments with their events, in bytes. */
  readonly storedBytes: number;
  readonly assets: number;
}

/** An API key. The secret is not stored. Times are Unix seconds. */
export interface ApiKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly lastUsedAt: number | undefined;
  readonly revokedAt: number | undefined;
  /** What it may do besides what every key may. */
  readonly permissions: readonly Permission[];
  readonly role: Role;
  /** From then on it is refused; `undefined` for never. */
  readonly expiresAt: number | undefined;
  /** The user or the key that created it; `undefined` for one of the command line. It ends with a key that created it. */
  readonly createdBy: string | undefined;
  /**
   * The user, or the key of the command line, with which the chain of its creators begins. Absent: the key itself. Everything
   * with the same origin is one person when a rollout is approved.
   */
  readonly originId?: string | undefined;
  /** Whether it falls with the person that is its origin. */
  readonly isPersonal?: boolean;
}

export interface AccountStore {
  createAccount(account: Account, audit?: AuditEntry): Promise<void>;
  findAccount(id: string): Promise<Account | undefined>;
  /** Returns zeros if there is no such account. */
  findUsage(id: string): Promise<AccountUsage>;
  /** Returns all accounts in order of creation. */
  listAccounts(): Promise<readonly Account[]>;
  /** Whether operators may update the agents of the account, and not only admins. Not unless set. */
  readOperatorsUpdateAgents(accountId: string): Promise<boolean>;
  setOperatorsUpdateAgents(
    accountId: string,
    mayUpdate: boolean,
    audit: AuditEntry,
    precondition?: Precondition<boolean>,
  ): Promise<void>;
}

/** What may be changed of a key; a field that is absent stays. */
export interface KeyChange {
  readonly name?: string | undefined;
  /** Unix seconds; `null` for never. */
  readonly expiresAt?: number | null | undefined;
}

/** What an expired key needs to live again. */
export interface KeyRenewal {
  /** Unix seconds. */
  readonly at: number;
  readonly bounds: KeyBounds;
}

export type KeyCreation = "created" | "too_many" | "maker_ended";

export interface KeyStore {
  /**
   * Stores a key, unless the account has as many as it may. Forgets those that ended earliest, beyond the bound. Throws when
   * there is no such account.
   *
   * @param hash hash of the secret; unique
   * @param bounds by default there are none
   * @param sessionHash of the session that it is made in
   * @returns `maker_ended` if the key or the session that makes it has ended meanwhile
   */
  createKey(
    key: ApiKey,
    hash: Uint8Array,
    audit?: AuditEntry,
    bounds?: KeyBounds,
    sessionHash?: Uint8Array,
  ): Promise<KeyCreation>;
  /** Returns the key whose secret has this hash, even if it is revoked or has expired. */
  findKeyByHash(hash: Uint8Array): Promise<ApiKey | undefined>;
  findKey(id: string): Promise<ApiKey | undefined>;
  /** Returns the keys of one account or of all, in order of creation. */
  listKeys(accountId?: string): Promise<readonly ApiKey[]>;
  recordKeyUse(id: string, at: number): Promise<void>;
  /**
   * Revokes the key, and every key that it has made, directly or not. Returns whether the key exists. A revoked key keeps the
   * time of its first revocation, and has no second entry.
   */
  revokeKey(id: string, at: number, audit?: AuditEntry, precondition?: Precondition<ApiKey>): Promise<boolean>;
  /**
   * Returns the key as changed; `undefined` if there is none in the account. Keys that it has made end no later than it does
   * from now on, and it ends no later than the key that has made it.
   *
   * @param renewal refuses to let an expired key live again beyond the bounds; by default there are none
   */
  changeKey(
    accountId: string,
    id: string,
    change: KeyChange,
    audit?: AuditEntry,
    renewal?: KeyRenewal,
    precondition?: Precondition<ApiKey>,
  ): Promise<ApiKey | "too_many" | undefined>;
}
