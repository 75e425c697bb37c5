/** Assets with their devices: identifiers, enrolment, sessions, reports, states, tags, variables and holds; events of accounts. */
export const ASSETS = /* sql */ `
  -- As in SQLite.
  CREATE FUNCTION unixepoch() RETURNS BIGINT LANGUAGE sql STABLE AS $$ SELECT extract(epoch FROM now())::bigint $$;

  CREATE TABLE assets (
    uuid TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    serial_number TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    -- Whether one of its SIMs is active: its status, which lists are filtered by.
    is_active SMALLINT NOT NULL DEFAULT 0 CHECK (is_active IN (0, 1)),
    -- When what people set of it was changed last, or its SIMs, by the clock of the database.
    updated_at BIGINT NOT NULL DEFAULT unixepoch(),
    device_token_hash BYTEA UNIQUE,
    -- The token a device was given to take the place of the one it has, until it connects with it.
    next_device_token_hash BYTEA UNIQUE,
    -- Whether the maker of the code that gave it the next token may replace devices in service.
    next_may_replace SMALLINT NOT NULL DEFAULT 1 CHECK (next_may_replace IN (0, 1)),
    -- The boots of its device as JSON, by which two devices with one token are told apart; NULL: none was seen.
    boots TEXT
  );
  CREATE INDEX assets_by_account ON assets (account_id, created_at, uuid);
  CREATE INDEX assets_by_status ON assets (account_id, is_active, created_at, uuid);
  CREATE INDEX assets_by_update ON assets (account_id, updated_at, uuid);
  CREATE INDEX assets_by_type ON assets (account_id, type, uuid);

  -- Every value an asset can be addressed by; the primary key is what makes each belong to one asset at most.
  CREATE TABLE identifiers (
    value TEXT COLLATE "C" PRIMARY KEY,
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE
  );
  CREATE INDEX identifiers_by_asset ON identifiers (asset_uuid);

  CREATE TABLE network_groups (
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account_id, name)
  );

  CREATE TABLE enrolment_codes (
    hash BYTEA PRIMARY KEY,
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    nonce_hash BYTEA,
    -- Whether the maker of the code may replace devices in service.
    may_replace SMALLINT NOT NULL DEFAULT 0 CHECK (may_replace IN (0, 1))
  );
  CREATE INDEX enrolment_codes_by_asset ON enrolment_codes (asset_uuid);
  CREATE INDEX enrolment_codes_unused ON enrolment_codes (expires_at) WHERE used_at IS NULL;

  -- What each device said last of its own accord: one row for each.
  CREATE TABLE device_reports (
    asset_uuid TEXT COLLATE "C" PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    hash TEXT COLLATE "C" NOT NULL,
    report TEXT NOT NULL,
    reported_at BIGINT NOT NULL,
    -- Since when the device holds back changes, so that the report is out of date.
    held_since BIGINT
  );

  -- The last answer of each device about what it sent and received.
  CREATE TABLE device_ledgers (
    asset_uuid TEXT COLLATE "C" PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    answered_at BIGINT NOT NULL
  );

  -- The connection of each device. A write for an epoch other than the current one is refused.
  CREATE TABLE device_sessions (
    asset_uuid TEXT COLLATE "C" PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    epoch BIGINT NOT NULL DEFAULT 0,
    -- NULL: not connected.
    instance_id TEXT COLLATE "C",
    session_id TEXT COLLATE "C",
    protocol INTEGER,
    last_seen_at BIGINT,
    -- Why the last one that was ended did; NULL: none was.
    end_reason TEXT
  ) WITH (fillfactor = 70);
  CREATE INDEX device_sessions_by_instance ON device_sessions (instance_id) WHERE instance_id IS NOT NULL;

  CREATE TABLE asset_states (
    asset_uuid TEXT COLLATE "C" PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT COLLATE "C" NOT NULL,
    -- As in assets, whose order the lists of assets have that are connected, or need attention.
    created_at BIGINT NOT NULL,
    -- The instance that holds the session of the device; NULL: not connected.
    instance_id TEXT COLLATE "C",
    last_seen_at BIGINT,
    agent_version TEXT COLLATE "C",
    -- Why it needs attention, a bit for each reason.
    reasons INTEGER NOT NULL DEFAULT 0,
    -- Deployments that wait for the device.
    waiting INTEGER NOT NULL DEFAULT 0,
    -- Until then one of the reasons counts: the data budget of the day or month is spent.
    budget_spent_until BIGINT,
    -- NULL: not accepted, so that nothing of a fleet reaches the device.
    accepted_at BIGINT,
    -- When another device took the place of the one before; NULL: never. What was requested earlier was meant for that one.
    replaced_at_ms BIGINT
  ) WITH (fillfactor = 70);
  CREATE INDEX asset_states_connected ON asset_states (account_id, created_at, asset_uuid) INCLUDE (instance_id)
    WHERE instance_id IS NOT NULL;
  CREATE INDEX asset_states_away ON asset_states (account_id, last_seen_at, reasons) WHERE instance_id IS NULL;
  CREATE INDEX asset_states_by_agent ON asset_states (account_id, agent_version);
  CREATE INDEX asset_states_not_accepted ON asset_states (account_id) WHERE accepted_at IS NULL;
  CREATE INDEX asset_states_with_reasons ON asset_states (account_id, created_at, asset_uuid)
    INCLUDE (reasons, budget_spent_until) WHERE reasons <> 0;

  -- Events get their ids when they are first read, after their commit, so that ids rise in the order of the commits. Writers
  -- wait for no reader.
  CREATE TABLE account_events (
    seq BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    id BIGINT,
    at_ms BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    event TEXT NOT NULL
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE UNIQUE INDEX account_events_by_account ON account_events (account_id, id) WHERE id IS NOT NULL;
  CREATE INDEX account_events_without_id ON account_events (account_id, seq) WHERE id IS NULL;

  -- The last id of each account, and up to which id the events are no longer there. A new row begins above every id that
  -- was given before, in whatever database.
  CREATE TABLE account_event_heads (
    account_id TEXT COLLATE "C" PRIMARY KEY,
    last_id BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    removed_to BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
  ) WITH (fillfactor = 50);

  CREATE TABLE asset_tags (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (asset_uuid, key)
  );
  CREATE INDEX asset_tags_by_value ON asset_tags (account_id, key, value, asset_uuid);

  CREATE TABLE asset_variables (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    name TEXT COLLATE "C" NOT NULL,
    is_secret SMALLINT NOT NULL CHECK (is_secret IN (0, 1)),
    -- Which key the value is sealed with.
    key_id TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (asset_uuid, name)
  );
  CREATE INDEX asset_variables_by_key ON asset_variables (key_id);

  CREATE TABLE asset_holds (
    asset_uuid TEXT COLLATE "C" PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    until_ms BIGINT,
    reason TEXT NOT NULL,
    set_at_ms BIGINT NOT NULL,
    set_by TEXT NOT NULL
  );

  -- Keys that values are sealed with. Their bytes are in the key file alone.
  CREATE TABLE sealing_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    created_at_ms BIGINT NOT NULL,
    is_current SMALLINT NOT NULL CHECK (is_current IN (0, 1))
  );
  CREATE UNIQUE INDEX sealing_keys_current ON sealing_keys (is_current) WHERE is_current = 1;

  -- A row for the session of each asset, so that there is always one to lock.
  CREATE FUNCTION note_registered_asset() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE accounts SET asset_count = asset_count + 1 WHERE id = new.account_id;
    INSERT INTO device_sessions (asset_uuid) VALUES (new.uuid);
    RETURN NULL;
  END $$;

  CREATE FUNCTION note_removed_asset() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE accounts SET asset_count = asset_count - 1 WHERE id = old.account_id;
    RETURN NULL;
  END $$;

  CREATE TRIGGER asset_registered AFTER INSERT ON assets FOR EACH ROW EXECUTE FUNCTION note_registered_asset();

  CREATE TRIGGER asset_removed AFTER DELETE ON assets FOR EACH ROW EXECUTE FUNCTION note_removed_asset();

  CREATE TRIGGER device_token_replaced AFTER UPDATE OF device_token_hash ON assets
    FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();

  CREATE TRIGGER device_removed AFTER DELETE ON assets FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();

  CREATE FUNCTION add_asset_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO asset_states (asset_uuid, account_id, created_at) VALUES (new.uuid, new.account_id, new.created_at);
    RETURN NULL;
  END $$;

  CREATE TRIGGER asset_state_added AFTER INSERT ON assets FOR EACH ROW EXECUTE FUNCTION add_asset_state();
`;
