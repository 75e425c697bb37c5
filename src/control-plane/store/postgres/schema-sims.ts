/** What the operators say of SIMs, and what was asked of them. */
export const SIMS = /* sql */ `
  ALTER TABLE sims
    ADD COLUMN operator_status TEXT,
    ADD COLUMN allowance_bytes BIGINT,
    -- What the operator has queued, as JSON.
    ADD COLUMN pending TEXT,
    -- Whether the operator did not know the SIM when it was asked last.
    ADD COLUMN is_lost SMALLINT NOT NULL DEFAULT 0 CHECK (is_lost IN (0, 1)),
    ADD COLUMN checked_at_ms BIGINT,
    -- When the operator is to be asked next.
    ADD COLUMN next_check_at_ms BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX sims_due ON sims (kind, next_check_at_ms);`;
