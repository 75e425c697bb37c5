/** What the operators say of SIMs, and what was asked of them. */
export const SIMS = /* sql */ `
  ALTER TABLE sims ADD COLUMN operator_status TEXT;
  ALTER TABLE sims ADD COLUMN allowance_bytes INTEGER;
  -- What the operator has queued, as JSON.
  ALTER TABLE sims ADD COLUMN pending TEXT;
  -- Whether the operator did not know the SIM when it was asked last.
  ALTER TABLE sims ADD COLUMN is_lost INTEGER NOT NULL DEFAULT 0 CHECK (is_lost IN (0, 1));
  ALTER TABLE sims ADD COLUMN checked_at_ms INTEGER;
  -- When the operator is to be asked next.
  ALTER TABLE sims ADD COLUMN next_check_at_ms INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX sims_due ON sims (kind, next_check_at_ms);`;
