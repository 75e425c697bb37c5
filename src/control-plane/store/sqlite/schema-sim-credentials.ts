/** Credentials of accounts at the companies that run their SIMs. */
export const SIM_CREDENTIALS = /* sql */ `
  CREATE TABLE sim_operator_credentials (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    changed_at_ms INTEGER NOT NULL,
    -- Which key they are sealed with.
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (account_id, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sim_operator_credentials_by_key ON sim_operator_credentials (key_id);`;
