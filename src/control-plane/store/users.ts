import type { OneTimeCode } from "../core/people/one-time-code.ts";
import type { Role } from "../core/people/roles.ts";
import type { User } from "../core/people/user.ts";
import type { Account } from "./accounts.ts";
import type { AuditEntry } from "./audit.ts";
import type { Precondition } from "./precondition.ts";

/** What may be changed of a user; a field that is absent stays. */
export interface UserChange {
  readonly name?: string;
  readonly role?: Role;
  readonly isDisabled?: boolean;
  /** Of a new password, as a PHC string. */
  readonly passwordHash?: string;
  /** Another address, as the identity provider of the user has verified it. */
  readonly email?: string;
}

export type UserChangeResult = "changed" | "unknown" | "last_admin" | "stale" | "email_taken";

/** What a user has proved before it changes its own password. */
export interface PasswordProof {
  /** Of the session that the change was asked for in. */
  readonly sessionHash: Uint8Array;
  /** That of the password that was checked. */
  readonly passwordHash: string | undefined;
}

/** The first user of the service, or of an account. */
export interface SetUp {
  readonly codeHash: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
  /** The account to create; `undefined` if the code is of an account that exists. */
  readonly account: Account | undefined;
  readonly user: User;
  readonly audit: AuditEntry;
}

export type SetUpResult = "done" | "code_not_usable" | "users_exist" | "email_taken";

/** A code that a user sets a password with: an invitation or a reset. */
export interface CodeAcceptance {
  readonly codeHash: Uint8Array;
  /** Unix seconds. */
  readonly at: number;
  readonly passwordHash: string;
  /** The name the user wants; `undefined` to keep the one there is. */
  readonly name: string | undefined;
  readonly audit: AuditEntry;
}

/** Who an invited user is at an OpenID Connect provider. */
export interface IdentityLink {
  readonly userId: string;
  readonly identity: NonNullable<User["oidc"]>;
  readonly role: Role;
  readonly audit: AuditEntry;
}

export type UserCreationResult = "created" | "taken" | "too_many";

/** A code of a user who has been removed or disabled is not issued. */
export type CodeIssue = "issued" | "unknown" | "disabled";

/** The users of accounts, and their codes. Each change and its entry of the audit log are one transaction. */
export interface UserStore {
  /** Whether there is any user in any account. */
  hasUsers(): Promise<boolean>;
  findUser(id: string): Promise<User | undefined>;
  /** Finds the user with an address, whatever case it is written in. An address belongs to one user of the service. */
  findUserByEmail(email: string): Promise<User | undefined>;
  findUserByIdentity(issuer: string, subject: string): Promise<User | undefined>;
  /** Returns the users of an account in order of creation. */
  listUsers(accountId: string): Promise<readonly User[]>;
  /**
   * Stores a user, unless another one has the address or the identity, or the account has as many as it may.
   *
   * @param invitation how to get a password
   * @param maxUsers of the account; by default there is no bound
   */
  createUser(
    user: User,
    invitation: { readonly code: OneTimeCode; readonly hash: Uint8Array } | undefined,
    audit: AuditEntry,
    maxUsers?: number,
  ): Promise<UserCreationResult>;
  /**
   * Ends the user's sessions unless only the name or the address is changed. An address that another user has is refused. With a new password, the keys that fall with the user are revoked,
   * and what it confirmed is taken back. Refuses to take the last local admin of the account away.
   *
   * @param required with a proof that is not so any more, the change is `stale` and refused
   */
  changeUser(
    accountId: string,
    id: string,
    change: UserChange,
    audit: AuditEntry,
    required?: { readonly proof?: PasswordProof; readonly precondition?: Precondition<User> | undefined },
  ): Promise<UserChangeResult>;
  /** Removes the user with sessions and codes. Refuses to remove the last local admin of the account. */
  removeUser(
    accountId: string,
    id: string,
    audit: AuditEntry,
    precondition?: Precondition<User>,
  ): Promise<UserChangeResult>;
  /**
   * Links a user without password and identity to who it is at a provider; its invitation becomes invalid. Returns the user as
   * stored, also if it was linked to the same identity meanwhile; `undefined` if it cannot be linked any more.
   */
  linkIdentity(link: IdentityLink): Promise<User | undefined>;
  recordSignIn(id: string, at: number): Promise<void>;
  /**
   * Stores another hash of the same password. Sessions stay. Returns the user as stored; `undefined` if the user no longer has
   * the hash `from`.
   */
  replaceHash(id: string, from: string, to: string): Promise<User | undefined>;

  /** Stores a code. Unused ones of the same user, or unused set-up codes, become invalid. @param hash unique */
  issueCode(code: OneTimeCode, hash: Uint8Array, audit: AuditEntry | undefined): Promise<CodeIssue>;
  findCode(hash: Uint8Array): Promise<OneTimeCode | undefined>;
  /** Uses a set-up code: creates the user as the admin it makes, and the account unless the code is of one. */
  setUp(setUp: SetUp): Promise<SetUpResult>;
  /**
   * Uses an invitation or a reset: sets the password and ends the user's sessions, the keys that fall with it, and what it confirmed.
   * Returns the user; `undefined` if the code is not usable, or its user is disabled.
   */
  acceptCode(acceptance: CodeAcceptance): Promise<User | undefined>;
}
