/** Assets with their devices: identifiers, enrolment, sessions, reports, states, tags, variables and holds; events of accounts. */
export const ASSETS = /* sql */ `
  CREATE TABLE assets (
    uuid TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    serial_number TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- Whether one of its SIMs is active: its status, which lists are filtered by.
    is_active INTEGER NOT NULL DEFAULT 0 CHECK (is_active IN (0, 1)),
    -- When what people set of it was changed last, or its SIMs, by the clock of the database.
    updated_at INTEGER NOT NULL DEFAULT (unixepoch()),
    device_token_hash BLOB UNIQUE,
    -- The token a device was given to take the place of the one it has, until it connects with it.
    next_device_token_hash BLOB,
    -- Whether the maker of the code that gave it the next token may replace devices in service.
    next_may_replace INTEGER NOT NULL DEFAULT 1 CHECK (next_may_replace IN (0, 1)),
    -- The boots of its device as JSON, by which two devices with one token are told apart; NULL: none was seen.
    boots TEXT
  ) STRICT;
  CREATE INDEX assets_by_account ON assets (account_id, created_at, uuid);
  CREATE INDEX assets_by_status ON assets (account_id, is_active, created_at, uuid);
  CREATE INDEX assets_by_update ON assets (account_id, updated_at, uuid);
  CREATE INDEX assets_by_type ON assets (account_id, type, uuid);
  CREATE UNIQUE INDEX assets_by_next_token ON assets (next_device_token_hash) WHERE next_device_token_hash IS NOT NULL;

  -- Every value an asset can be addressed by; the primary key is what makes each belong to one asset at most.
  CREATE TABLE identifiers (
    value TEXT PRIMARY KEY,
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX identifiers_by_asset ON identifiers (asset_uuid);

  CREATE TABLE network_groups (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    PRIMARY KEY (account_id, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE enrolment_codes (
    hash BLOB PRIMARY KEY,
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    nonce_hash BLOB,
    -- Whether the maker of the code may replace devices in service.
    may_replace INTEGER NOT NULL DEFAULT 0 CHECK (may_replace IN (0, 1))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX enrolment_codes_by_asset ON enrolment_codes (asset_uuid);
  CREATE INDEX enrolment_codes_unused ON enrolment_codes (expires_at) WHERE used_at IS NULL;

  -- What each device said last of its own accord: one row for each.
  CREATE TABLE device_reports (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    report TEXT NOT NULL,
    reported_at INTEGER NOT NULL,
    -- Since when the device holds back changes, so that the report is out of date.
    held_since INTEGER
  ) STRICT;

  -- The last answer of each device about what it sent and received.
  CREATE TABLE device_ledgers (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    answered_at INTEGER NOT NULL
  ) STRICT;

  -- The connection of each device. A write for an epoch other than the current one is refused.
  CREATE TABLE device_sessions (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    epoch INTEGER NOT NULL DEFAULT 0,
    -- NULL: not connected.
    instance_id TEXT,
    session_id TEXT,
    protocol INTEGER,
    last_seen_at INTEGER,
    -- Why the last one that was ended did; NULL: none was.
    end_reason TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX device_sessions_by_instance ON device_sessions (instance_id) WHERE instance_id IS NOT NULL;

  CREATE TABLE asset_states (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT NOT NULL,
    -- As in assets, whose order the lists of assets have that are connected, or need attention.
    created_at INTEGER NOT NULL,
    -- The instance that holds the session of the device; NULL: not connected.
    instance_id TEXT,
    last_seen_at INTEGER,
    agent_version TEXT,
    -- Why it needs attention, a bit for each reason.
    reasons INTEGER NOT NULL DEFAULT 0,
    -- Deployments that wait for the device.
    waiting INTEGER NOT NULL DEFAULT 0,
    -- Until then one of the reasons counts: the data budget of the day or month is spent.
    budget_spent_until INTEGER,
    -- NULL: not accepted, so that nothing of a fleet reaches the device.
    accepted_at INTEGER,
    -- When another device took the place of the one before; NULL: never. What was requested earlier was meant for that one.
    replaced_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX asset_states_connected ON asset_states (account_id, created_at, asset_uuid, instance_id)
    WHERE instance_id IS NOT NULL;
  CREATE INDEX asset_states_away ON asset_states (account_id, last_seen_at, reasons) WHERE instance_id IS NULL;
  CREATE INDEX asset_states_by_agent ON asset_states (account_id, agent_version);
  CREATE INDEX asset_states_not_accepted ON asset_states (account_id) WHERE accepted_at IS NULL;
  CREATE INDEX asset_states_with_reasons ON asset_states (account_id, created_at, asset_uuid, reasons, budget_spent_until)
    WHERE reasons <> 0;

  -- The rows of an account are in the order of their commits.
  CREATE TABLE account_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX account_events_by_account ON account_events (account_id, id);

  -- Up to which id the events of an account are no longer there.
  CREATE TABLE account_event_heads (
    account_id TEXT PRIMARY KEY,
    removed_to INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE asset_tags (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (asset_uuid, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX asset_tags_by_value ON asset_tags (account_id, key, value, asset_uuid);

  CREATE TABLE asset_variables (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    name TEXT NOT NULL,
    is_secret INTEGER NOT NULL CHECK (is_secret IN (0, 1)),
    -- Which key the value is sealed with.
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (asset_uuid, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX asset_variables_by_key ON asset_variables (key_id);

  CREATE TABLE asset_holds (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    until_ms INTEGER,
    reason TEXT NOT NULL,
    set_at_ms INTEGER NOT NULL,
    set_by TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Keys that values are sealed with. Their bytes are in the key file alone.
  CREATE TABLE sealing_keys (
    id TEXT PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    is_current INTEGER NOT NULL CHECK (is_current IN (0, 1))
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX sealing_keys_current ON sealing_keys (is_current) WHERE is_current = 1;

  CREATE TRIGGER asset_registered AFTER INSERT ON assets BEGIN
    UPDATE accounts SET asset_count = asset_count + 1 WHERE id = new.account_id;
  END;

  CREATE TRIGGER asset_removed AFTER DELETE ON assets BEGIN
    UPDATE accounts SET asset_count = asset_count - 1 WHERE id = old.account_id;
  END;

  CREATE TRIGGER asset_state_added AFTER INSERT ON assets BEGIN
    INSERT INTO asset_states (asset_uuid, account_id, created_at) VALUES (new.uuid, new.account_id, new.created_at);
  END;
`;
