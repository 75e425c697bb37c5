/** Monthly allowances of SIMs, and what accounts wish for deployments where one is used up. */
export const SIM_PLANS = /* sql */ `
  ALTER TABLE sims
    -- Bytes a month as somebody has set them, which take precedence over allowance_bytes.
    ADD COLUMN manual_allowance_bytes BIGINT,
    -- How the month's plan is, until plan_until, in Unix seconds; NULL: there is nothing to say.
    ADD COLUMN plan_state TEXT COLLATE "C" CHECK (plan_state IN ('foreseen', 'spent')),
    ADD COLUMN plan_until BIGINT,
    -- How it was when it was judged last: bytes of the month, those expected by its end, and when they were counted, in Unix seconds.
    ADD COLUMN plan_used_bytes BIGINT,
    ADD COLUMN plan_forecast_bytes BIGINT,
    ADD COLUMN plan_as_of BIGINT,
    -- When the plan is to be judged next.
    ADD COLUMN plan_due_ms BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX sims_plan_due ON sims (plan_due_ms)
    WHERE manual_allowance_bytes IS NOT NULL OR allowance_bytes IS NOT NULL OR plan_state IS NOT NULL;

  CREATE TABLE data_plan_settings (
    account_id TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- What becomes of deployments to an asset with a spent plan.
    deployments TEXT COLLATE "C" NOT NULL CHECK (deployments IN ('ignore', 'wait', 'urgent'))
  );`;
