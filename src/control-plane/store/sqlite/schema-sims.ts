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
  CREATE INDEX sims_due ON sims (kind, next_check_at_ms);

  -- Bytes as an operator counts them, from start_time on, in Unix seconds.
  CREATE TABLE sim_usage (
    asset_uuid TEXT NOT NULL,
    kind TEXT NOT NULL,
    period TEXT NOT NULL CHECK (period IN ('hour', 'day')),
    start_time INTEGER NOT NULL,
    bucket TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (asset_uuid, kind, period, start_time, bucket),
    FOREIGN KEY (asset_uuid, kind) REFERENCES sims (asset_uuid, kind) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;

  -- The days that sim_usage has: from from_time, final before final_until, until until_time, in Unix seconds.
  CREATE TABLE sim_usage_reads (
    asset_uuid TEXT NOT NULL,
    kind TEXT NOT NULL,
    period TEXT NOT NULL CHECK (period IN ('hour', 'day')),
    from_time INTEGER NOT NULL,
    final_until INTEGER NOT NULL,
    until_time INTEGER NOT NULL,
    read_at_ms INTEGER NOT NULL,
    PRIMARY KEY (asset_uuid, kind, period),
    FOREIGN KEY (asset_uuid, kind) REFERENCES sims (asset_uuid, kind) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;

  -- Bytes a month as somebody has set them, which take precedence over allowance_bytes.
  ALTER TABLE sims ADD COLUMN manual_allowance_bytes INTEGER;
  -- How the month's plan is, until plan_until, in Unix seconds; NULL: there is nothing to say.
  ALTER TABLE sims ADD COLUMN plan_state TEXT CHECK (plan_state IN ('foreseen', 'spent'));
  ALTER TABLE sims ADD COLUMN plan_until INTEGER;
  -- When the plan is to be judged next.
  ALTER TABLE sims ADD COLUMN plan_due_ms INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX sims_plan_due ON sims (plan_due_ms)
    WHERE manual_allowance_bytes IS NOT NULL OR allowance_bytes IS NOT NULL OR plan_state IS NOT NULL;

  CREATE TABLE data_plan_settings (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- What becomes of deployments to an asset with a spent plan.
    deployments TEXT NOT NULL CHECK (deployments IN ('ignore', 'wait', 'urgent'))
  ) STRICT, WITHOUT ROWID;`;
