/** SIMs, their usage, what their operators say of them, and their data plans. */
export const SIMS = /* sql */ `
  CREATE TABLE sims (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    iccid TEXT COLLATE "C" NOT NULL,
    sid TEXT COLLATE "C",
    imsi TEXT COLLATE "C",
    network_group TEXT COLLATE "C",
    service_profile TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'inactive')),
    operator_status TEXT,
    allowance_bytes BIGINT,
    -- What the operator has queued, as JSON.
    pending TEXT,
    -- Whether the operator did not know the SIM when it was asked last.
    is_lost SMALLINT NOT NULL DEFAULT 0 CHECK (is_lost IN (0, 1)),
    checked_at_ms BIGINT,
    -- When the operator is to be asked next.
    next_check_at_ms BIGINT NOT NULL DEFAULT 0,
    -- Bytes a month as a person has set them, which take precedence over allowance_bytes.
    manual_allowance_bytes BIGINT,
    -- How the month's plan is, until plan_until, in Unix seconds; NULL: there is nothing to say.
    plan_state TEXT COLLATE "C" CHECK (plan_state IN ('foreseen', 'spent')),
    plan_until BIGINT,
    -- How it was when it was judged last: bytes of the month, those expected by its end, and when they were counted, in Unix seconds.
    plan_used_bytes BIGINT,
    plan_forecast_bytes BIGINT,
    plan_as_of BIGINT,
    -- When the plan is to be judged next.
    plan_due_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_uuid, kind)
  );
  CREATE INDEX sims_by_iccid ON sims (iccid);
  CREATE INDEX sims_due ON sims (kind, next_check_at_ms);
  CREATE INDEX sims_plan_due ON sims (plan_due_ms)
    WHERE manual_allowance_bytes IS NOT NULL OR allowance_bytes IS NOT NULL OR plan_state IS NOT NULL;

  -- "bucket" is the network group (Super SIM) or the service profile (PRO SIM) the bytes were used under.
  CREATE TABLE usage_records (
    iccid TEXT COLLATE "C" NOT NULL,
    start_time BIGINT NOT NULL,
    end_time BIGINT NOT NULL,
    bucket TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (iccid, start_time, bucket)
  );

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

  CREATE TABLE sim_operator_credentials (
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    changed_at_ms BIGINT NOT NULL,
    -- Which key they are sealed with.
    key_id TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (account_id, kind)
  );
  CREATE INDEX sim_operator_credentials_by_key ON sim_operator_credentials (key_id);

  CREATE TABLE data_plan_settings (
    account_id TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- What becomes of deployments to an asset with a spent plan.
    deployments TEXT COLLATE "C" NOT NULL CHECK (deployments IN ('ignore', 'wait', 'urgent'))
  );
`;
