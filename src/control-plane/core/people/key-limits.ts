/** Maximum number of keys of one account, without revoked ones. */
export const MAX_KEYS_PER_ACCOUNT = 1_000;

/** Revoked keys of one account that are still listed; those that were revoked earliest are forgotten. */
export const MAX_REVOKED_KEYS_PER_ACCOUNT = 1_000;
