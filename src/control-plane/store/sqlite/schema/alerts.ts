/** Alerts, whom they are told, and what was told. Times are Unix milliseconds. */
export const ALERTS = /* sql */ `
  CREATE TABLE alerts (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    condition TEXT NOT NULL,
    subject_kind TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    -- As it was called then.
    subject_name TEXT NOT NULL,
    severity TEXT NOT NULL,
    -- 'pending': its condition has not held for long enough.
    state TEXT NOT NULL CHECK (state IN ('pending', 'firing', 'resolved')),
    since_ms INTEGER NOT NULL,
    clear_since_ms INTEGER,
    fired_at_ms INTEGER,
    resolved_at_ms INTEGER,
    usual_pause_ms INTEGER,
    acknowledged_at_ms INTEGER,
    -- Name of who did, or the id.
    acknowledged_by TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX alerts_open ON alerts (account_id, condition, subject_id) WHERE state <> 'resolved';
  CREATE INDEX alerts_by_state ON alerts (account_id, state, fired_at_ms, id);
  CREATE INDEX alerts_by_subject ON alerts (account_id, subject_id, state, fired_at_ms, id);
  CREATE INDEX alerts_resolved ON alerts (resolved_at_ms) WHERE state = 'resolved';

  CREATE TABLE alert_rules (
    account_id TEXT PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    rules TEXT NOT NULL,
    -- Whether one of them is about what devices measure.
    about_levels INTEGER NOT NULL CHECK (about_levels IN (0, 1))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_rules_about_levels ON alert_rules (account_id) WHERE about_levels = 1;

  CREATE TABLE alert_routes (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (account_id, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE alert_channels (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- What of it is shown, in JSON.
    shown TEXT NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    -- Since when every message fails.
    failing_since_ms INTEGER,
    -- When the service has given it up.
    disabled_at_ms INTEGER,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (account_id, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_channels_by_key ON alert_channels (key_id);

  CREATE TABLE silences (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    conditions TEXT,
    selector TEXT NOT NULL,
    asset_uuid TEXT REFERENCES assets (uuid) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    ends_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX silences_by_account ON silences (account_id, ends_at_ms);
  CREATE INDEX silences_by_asset ON silences (asset_uuid) WHERE asset_uuid IS NOT NULL;

  -- Alerts of one condition that a route tells of together.
  CREATE TABLE alert_groups (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    route TEXT NOT NULL,
    condition TEXT NOT NULL,
    severity TEXT NOT NULL,
    first_since_ms INTEGER NOT NULL,
    opened_at_ms INTEGER NOT NULL,
    sends INTEGER NOT NULL DEFAULT 0,
    sent_total INTEGER NOT NULL DEFAULT 0,
    last_sent_at_ms INTEGER,
    -- When to look what it has to say; NULL: when its alerts change.
    due_ms INTEGER,
    is_closed INTEGER NOT NULL DEFAULT 0 CHECK (is_closed IN (0, 1))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_groups_open ON alert_groups (account_id, opened_at_ms) WHERE is_closed = 0;
  CREATE INDEX alert_groups_due ON alert_groups (due_ms) WHERE due_ms IS NOT NULL;
  CREATE INDEX alert_groups_by_age ON alert_groups (opened_at_ms) WHERE is_closed = 1;

  CREATE TABLE alert_group_members (
    group_id TEXT NOT NULL REFERENCES alert_groups (id) ON DELETE CASCADE,
    alert_id TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    route TEXT NOT NULL,
    joined_at_ms INTEGER NOT NULL,
    PRIMARY KEY (group_id, alert_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX alert_group_members_by_alert ON alert_group_members (alert_id);

  -- Messages that are to be sent, and those that were.
  CREATE TABLE alert_deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    channel TEXT NOT NULL,
    group_id TEXT NOT NULL,
    -- The same however often it is sent.
    message_id TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at_ms INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    -- Until then the instance that has claimed it sends it.
    claimed_by TEXT,
    claimed_until_ms INTEGER NOT NULL DEFAULT 0,
    answered_at_ms INTEGER,
    answer TEXT,
    UNIQUE (account_id, channel, message_id)
  ) STRICT;
  CREATE INDEX alert_deliveries_waiting ON alert_deliveries (account_id, channel, group_id, id) WHERE state = 'waiting';
  CREATE INDEX alert_deliveries_answered ON alert_deliveries (account_id, channel, answered_at_ms) WHERE answered_at_ms IS NOT NULL;
  CREATE INDEX alert_deliveries_by_age ON alert_deliveries (created_at_ms);
  CREATE INDEX alert_deliveries_by_account ON alert_deliveries (account_id, id);

  -- What is known of the habits of a device.
  CREATE TABLE device_habits (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    -- Connections that were counted, less those that time has taken away, in thousandths.
    level_millis INTEGER NOT NULL,
    level_at_ms INTEGER NOT NULL,
    flaps_until_ms INTEGER NOT NULL,
    away_since_ms INTEGER,
    -- End and length of the last long pauses, in JSON.
    pauses TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX device_habits_flapping ON device_habits (flaps_until_ms) WHERE flaps_until_ms > 0;

  -- What is the matter with the service itself, as it says until a time, and whom that is told.
  CREATE TABLE service_troubles (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    condition TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    subject_name TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, condition, subject_id)
  ) STRICT, WITHOUT ROWID;

  -- One row: when alerts were judged last, and when the service was last absent.
  CREATE TABLE alert_rounds (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_at_ms INTEGER NOT NULL DEFAULT 0,
    outage_from_ms INTEGER NOT NULL DEFAULT 0,
    outage_until_ms INTEGER NOT NULL DEFAULT 0
  ) STRICT;

  INSERT INTO alert_rounds (id) VALUES (1);
`;
