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
