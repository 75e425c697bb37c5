/** Credentials of accounts at the companies that run their SIMs. */
export const SIM_CREDENTIALS = /* sql */ `
  CREATE TABLE sim_operator_credentials (
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    changed_at_ms BIGINT NOT NULL,
    -- Which key they are sealed with.
    key_id TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (account_id, kind)
  );
  CREATE INDEX sim_operator_credentials_by_key ON sim_operator_credentials (key_id);`;
