/** Maximum number of keys of one account, without those of log-ins and without revoked and expired ones. */
export const MAX_KEYS_PER_ACCOUNT = 1_000;

/** Maximum number of keys of one user's log-ins; the one that was used least recently falls for another. */
export const MAX_LOGIN_KEYS_PER_USER = 20;

/** Revoked and expired keys of one account that are still listed; those that ended earliest are forgotten. */
export const MAX_ENDED_KEYS_PER_ACCOUNT = 1_000;

/** Bounds of the keys of an account. */
export interface KeyBounds {
  readonly maxKeys: number;
  readonly maxLoginKeys: number;
  readonly maxEnded: number;
}

export const KEY_BOUNDS: KeyBounds = {
  maxKeys: MAX_KEYS_PER_ACCOUNT,
  maxLoginKeys: MAX_LOGIN_KEYS_PER_USER,
  maxEnded: MAX_ENDED_KEYS_PER_ACCOUNT,
};
