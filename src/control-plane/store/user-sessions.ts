import type { UserSession } from "../core/people/session.ts";
import type { User } from "../core/people/user.ts";
import type { AuditEntry } from "./audit.ts";

/** Sessions of one user at a time; the one that was used least recently ends for another. */
export const MAX_SESSIONS_PER_USER = 50;

export interface OpenedUserSession {
  readonly session: UserSession;
  /** Of its secret; unique. */
  readonly hash: Uint8Array;
  /** The user as it was when it proved who it is. */
  readonly user: User;
  /** The session that the browser had before: it ends. */
  readonly replaces: Uint8Array | undefined;
  readonly audit: AuditEntry;
}

/** The sessions of users. Those of a user end with every change of its password, role or right to sign in. */
export interface UserSessionStore {
  /**
   * Opens a session, if the user's password, role and right to sign in are still those that were checked. Returns whether
   * they are.
   */
  openSession(opened: OpenedUserSession): Promise<boolean>;
  /** Returns the session with this hash, even if it has expired, and its user as it is now. */
  findSession(hash: Uint8Array): Promise<{ readonly session: UserSession; readonly user: User } | undefined>;
  recordSessionUse(hash: Uint8Array, at: number): Promise<void>;
  /** Returns whether the session existed. */
  closeSession(hash: Uint8Array, audit?: AuditEntry): Promise<boolean>;
  /** Removes the sessions that have expired, and codes that are not used any more. Returns how many sessions. */
  removeExpired(now: number): Promise<number>;
}

/** Browsers of one user at a time; the one that was used least recently is forgotten for another. */
export const MAX_BROWSERS_PER_USER = 20;
/** A browser is forgotten this long after its last use, in seconds. */
export const BROWSER_RETENTION_S = 180 * 24 * 3600;

/** The browsers in which users have signed in. What strangers do does not slow down sign-ins in them. */
export interface BrowserStore {
  /** Whether the user has signed in with this browser within `BROWSER_RETENTION_S` before `at`. @param hash of its token */
  isKnown(userId: string, hash: Uint8Array, at: number): Promise<boolean>;
  /** Whether any user has. @param hash of its token */
  isKnownToAnyone(hash: Uint8Array, at: number): Promise<boolean>;
  /** Stores that the user has signed in. Does nothing if the user was removed, or the token is another user's. */
  remember(userId: string, hash: Uint8Array, at: number): Promise<void>;
}
