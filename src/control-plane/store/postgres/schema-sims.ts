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
  CREATE INDEX sims_due ON sims (kind, next_check_at_ms);

  -- Bytes as an operator counts them, from start_time on, in Unix seconds.
  CREATE TABLE sim_usage (
    asset_uuid TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    period TEXT COLLATE "C" NOT NULL CHECK (period IN ('hour', 'day')),
    start_time BIGINT NOT NULL,
    bucket TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (asset_uuid, kind, period, start_time, bucket),
    FOREIGN KEY (asset_uuid, kind) REFERENCES sims (asset_uuid, kind) ON DELETE CASCADE
  );

  -- The days that sim_usage has: from from_time, final before final_until, until until_time, in Unix seconds.
  CREATE TABLE sim_usage_reads (
    asset_uuid TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    period TEXT COLLATE "C" NOT NULL CHECK (period IN ('hour', 'day')),
    from_time BIGINT NOT NULL,
    final_until BIGINT NOT NULL,
    until_time BIGINT NOT NULL,
    read_at_ms BIGINT NOT NULL,
    PRIMARY KEY (asset_uuid, kind, period),
    FOREIGN KEY (asset_uuid, kind) REFERENCES sims (asset_uuid, kind) ON DELETE CASCADE
  );

  ALTER TABLE sims
    -- Bytes a month as somebody has set them, which take precedence over allowance_bytes.
    ADD COLUMN manual_allowance_bytes BIGINT,
    -- How the month's plan is, until plan_until, in Unix seconds; NULL: there is nothing to say.
    ADD COLUMN plan_state TEXT COLLATE "C" CHECK (plan_state IN ('foreseen', 'spent')),
    ADD COLUMN plan_until BIGINT,
    -- When the plan is to be judged next.
    ADD COLUMN plan_due_ms BIGINT NOT NULL DEFAULT 0;
  CREATE INDEX sims_plan_due ON sims (plan_due_ms)
    WHERE manual_allowance_bytes IS NOT NULL OR allowance_bytes IS NOT NULL OR plan_state IS NOT NULL;

  CREATE TABLE data_plan_settings (
    account_id TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- What becomes of deployments to an asset with a spent plan.
    deployments TEXT COLLATE "C" NOT NULL CHECK (deployments IN ('ignore', 'wait', 'urgent'))
  );`;
