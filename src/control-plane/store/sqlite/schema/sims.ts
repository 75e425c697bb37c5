/** SIMs, their usage, what their operators say of them, and their data plans. */
export const SIMS = /* sql */ `
  CREATE TABLE sims (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    iccid TEXT NOT NULL,
    sid TEXT,
    imsi TEXT,
    network_group TEXT,
    service_profile TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'inactive')),
    operator_status TEXT,
    allowance_bytes INTEGER,
    -- What the operator has queued, as JSON.
    pending TEXT,
    -- Whether the operator did not know the SIM when it was asked last.
    is_lost INTEGER NOT NULL DEFAULT 0 CHECK (is_lost IN (0, 1)),
    checked_at_ms INTEGER,
    -- When the operator is to be asked next.
    next_check_at_ms INTEGER NOT NULL DEFAULT 0,
    -- Bytes a month as a person has set them, which take precedence over allowance_bytes.
    manual_allowance_bytes INTEGER,
    -- How the month's plan is, until plan_until, in Unix seconds; NULL: there is nothing to say.
    plan_state TEXT CHECK (plan_state IN ('foreseen', 'spent')),
    plan_until INTEGER,
    -- How it was when it was judged last: bytes of the month, those expected by its end, and when they were counted, in Unix seconds.
    plan_used_bytes INTEGER,
    plan_forecast_bytes INTEGER,
    plan_as_of INTEGER,
    -- When the plan is to be judged next.
    plan_due_ms INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_uuid, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sims_by_iccid ON sims (iccid);
  CREATE INDEX sims_due ON sims (kind, next_check_at_ms);
  CREATE INDEX sims_plan_due ON sims (plan_due_ms)
    WHERE manual_allowance_bytes IS NOT NULL OR allowance_bytes IS NOT NULL OR plan_state IS NOT NULL;

  -- What was imported, by SIM and bucket: the network group (Super SIM) or the service profile (PRO SIM) the bytes were used under.
  CREATE TABLE usage_series (
    id INTEGER PRIMARY KEY,
    iccid TEXT NOT NULL,
    bucket TEXT NOT NULL,
    UNIQUE (iccid, bucket)
  ) STRICT;

  -- Bytes from start_time on, in Unix seconds. Narrow, since a SIM has one for each hour.
  CREATE TABLE usage_records (
    series_id INTEGER NOT NULL REFERENCES usage_series (id) ON DELETE CASCADE,
    start_time INTEGER NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (series_id, start_time)
  ) STRICT, WITHOUT ROWID;

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

  CREATE TABLE sim_operator_credentials (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    changed_at_ms INTEGER NOT NULL,
    -- Which key they are sealed with.
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (account_id, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sim_operator_credentials_by_key ON sim_operator_credentials (key_id);

  CREATE TABLE data_plan_settings (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    -- What becomes of deployments to an asset with a spent plan.
    deployments TEXT NOT NULL CHECK (deployments IN ('ignore', 'wait', 'urgent'))
  ) STRICT, WITHOUT ROWID;

  CREATE TRIGGER sim_added AFTER INSERT ON sims WHEN new.status = 'active' BEGIN
    UPDATE assets SET is_active = 1 WHERE uuid = new.asset_uuid;
  END;

  CREATE TRIGGER sim_changed AFTER UPDATE OF status ON sims WHEN new.status <> old.status BEGIN
    UPDATE assets SET is_active = EXISTS (SELECT 1 FROM sims WHERE asset_uuid = new.asset_uuid AND status = 'active')
    WHERE uuid = new.asset_uuid;
  END;

  CREATE TRIGGER sim_removed AFTER DELETE ON sims WHEN old.status = 'active' BEGIN
    UPDATE assets SET is_active = EXISTS (SELECT 1 FROM sims WHERE asset_uuid = old.asset_uuid AND status = 'active')
    WHERE uuid = old.asset_uuid;
  END;
`;
