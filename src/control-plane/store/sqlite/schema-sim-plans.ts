/** Monthly allowances of SIMs, and what accounts wish for deployments where one is used up. */
export const SIM_PLANS = /* sql */ `
  -- Bytes a month as somebody has set them, which take precedence over allowance_bytes.
  ALTER TABLE sims ADD COLUMN manual_allowance_bytes INTEGER;
  -- How the month's plan is, until plan_until, in Unix seconds; NULL: there is nothing to say.
  ALTER TABLE sims ADD COLUMN plan_state TEXT CHECK (plan_state IN ('foreseen', 'spent'));
  ALTER TABLE sims ADD COLUMN plan_until INTEGER;
  -- How it was when it was judged last: bytes of the month, those expected by its end, and when they were counted, in Unix seconds.
  ALTER TABLE sims ADD COLUMN plan_used_bytes INTEGER;
  ALTER TABLE sims ADD COLUMN plan_forecast_bytes INTEGER;
  ALTER TABLE sims ADD COLUMN plan_as_of INTEGER;
  -- When the plan is to be judged next.
  ALTER TABLE sims ADD COLUMN plan_due_ms INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX sims_plan_due ON sims (plan_due_ms)
    WHERE manual_allowance_bytes IS NOT NULL OR allowance_bytes IS NOT NULL OR plan_state IS NOT NULL;

  CREATE TABLE data_plan_settings (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- What becomes of deployments to an asset with a spent plan.
    deployments TEXT NOT NULL CHECK (deployments IN ('ignore', 'wait', 'urgent'))
  ) STRICT, WITHOUT ROWID;`;
