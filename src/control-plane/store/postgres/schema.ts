import { ACCESS } from "./schema-access.ts";
import { FLEETS } from "./schema-fleets.ts";
import { SIM_CREDENTIALS } from "./schema-sim-credentials.ts";
import { SIM_PLANS } from "./schema-sim-plans.ts";
import { SIMS } from "./schema-sims.ts";
import { PEOPLE } from "./schema-people.ts";
import { STATES } from "./schema-states.ts";

/** A step of the schema. Append only: a released entry is never edited. */
export interface SchemaStep {
  /** The version of the schema after the step. The same as that of the SQLite store with the same tables. */
  readonly version: number;
  /** The lowest version whose programs can work with the schema after the step. */
  readonly compatibleFrom: number;
  readonly sql: string;
}

/**
 * Times are Unix seconds unless named `_ms`. Identifiers compare and sort by bytes, as in the SQLite store. What a device
 * or client sent is `text`, not `jsonb`: it is hashed and streamed as it was stored.
 */
const BASELINE = /* sql */ `
  CREATE TABLE accounts (
    id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    asset_count BIGINT NOT NULL DEFAULT 0
  );

  -- Size of what each account stores, as the sum of its shards. Deployments of one account would otherwise wait for each
  -- other, since every event changes the size.
  CREATE TABLE account_bytes (
    account_id TEXT COLLATE "C" NOT NULL,
    shard SMALLINT NOT NULL,
    stored_bytes BIGINT NOT NULL,
    PRIMARY KEY (account_id, shard)
  ) WITH (fillfactor = 50);

  CREATE TABLE api_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    -- A JSON array of what the key may do besides what every key may.
    permissions TEXT NOT NULL DEFAULT '[]'
  );

  CREATE TABLE assets (
    uuid TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    serial_number TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    device_token_hash BYTEA UNIQUE,
    -- The token a device was given to take the place of the one it has, until it connects with it.
    next_device_token_hash BYTEA UNIQUE
  );
  CREATE INDEX assets_by_account ON assets (account_id, created_at, uuid);

  CREATE TABLE sims (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    iccid TEXT COLLATE "C" NOT NULL,
    sid TEXT COLLATE "C",
    imsi TEXT COLLATE "C",
    network_group TEXT COLLATE "C",
    service_profile TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('active', 'inactive')),
    PRIMARY KEY (asset_uuid, kind)
  );
  CREATE INDEX sims_by_iccid ON sims (iccid);

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

  -- "bucket" is the network group (Super SIM) or the service profile (PRO SIM) the bytes were used under.
  CREATE TABLE usage_records (
    iccid TEXT COLLATE "C" NOT NULL,
    start_time BIGINT NOT NULL,
    end_time BIGINT NOT NULL,
    bucket TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (iccid, start_time, bucket)
  );

  CREATE TABLE enrolment_codes (
    hash BYTEA PRIMARY KEY,
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    nonce_hash BYTEA
  );
  CREATE INDEX enrolment_codes_by_asset ON enrolment_codes (asset_uuid);

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
    last_seen_at BIGINT
  ) WITH (fillfactor = 70);
  CREATE INDEX device_sessions_by_instance ON device_sessions (instance_id) WHERE instance_id IS NOT NULL;

  CREATE TABLE deployments (
    id TEXT COLLATE "C" PRIMARY KEY,
    -- The order in which the deployments of an asset were stored.
    stored_seq BIGINT GENERATED BY DEFAULT AS IDENTITY,
    account_id TEXT COLLATE "C" NOT NULL,
    asset_uuid TEXT COLLATE "C" NOT NULL,
    app TEXT NOT NULL,
    action TEXT NOT NULL,
    spec TEXT NOT NULL,
    options TEXT NOT NULL,
    -- Whether credentials came with the request. They themselves are never stored.
    has_registry_auth SMALLINT NOT NULL DEFAULT 0 CHECK (has_registry_auth IN (0, 1)),
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('Running', 'Success', 'Fail')),
    code TEXT,
    created_at_ms BIGINT NOT NULL,
    deadline_at_ms BIGINT NOT NULL,
    acknowledged_at_ms BIGINT,
    cancel_requested_at_ms BIGINT,
    finished_at_ms BIGINT,
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_device_seq BIGINT NOT NULL DEFAULT 0,
    idempotency_key TEXT COLLATE "C",
    request_hash BYTEA,
    -- Rises by one with each change of the row.
    version BIGINT NOT NULL DEFAULT 1,
    -- Twice the number of the session of the device that counts, plus one once it was said that it was lost.
    connection BIGINT NOT NULL DEFAULT 0,
    -- Why the device has to be asked what became of it before anything else is done about it.
    doubt TEXT COLLATE "C" CHECK (doubt IN ('asked', 'overdue', 'backup', 'restored')),
    -- Until when the device is waited for, where that is not "deadline_at_ms".
    doubt_until_ms BIGINT,
    event_bytes BIGINT NOT NULL DEFAULT 0,
    omitted_events INTEGER NOT NULL DEFAULT 0,
    -- Waiting for a device; the time to acknowledge begins when the command is first due to be sent, NULL: at the request.
    wait_until_ms BIGINT,
    is_waiting SMALLINT NOT NULL DEFAULT 0 CHECK (is_waiting IN (0, 1)),
    ack_since_ms BIGINT,
    -- What whoever holds the session of the device has to bring to it; NULL: nothing.
    delivery TEXT COLLATE "C" CHECK (delivery IN ('command', 'cancel')),
    -- When deadlines expire, in service time. "due_at_ms" is the earlier one.
    finish_due_ms BIGINT,
    reply_due_ms BIGINT,
    due_at_ms BIGINT
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
  CREATE INDEX deployments_by_asset ON deployments (asset_uuid, created_at_ms);
  CREATE INDEX deployments_unfinished ON deployments (asset_uuid) WHERE status = 'Running';
  CREATE INDEX deployments_finished ON deployments (finished_at_ms) WHERE finished_at_ms IS NOT NULL;
  CREATE INDEX deployments_ended_in_doubt ON deployments (asset_uuid)
    WHERE doubt IN ('asked', 'overdue') AND status <> 'Running';
  CREATE UNIQUE INDEX deployments_by_idempotency_key ON deployments (account_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
  CREATE INDEX deployments_due ON deployments (due_at_ms) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX deployments_undelivered ON deployments (asset_uuid) WHERE delivery IS NOT NULL;

  CREATE TABLE deployment_events (
    deployment_id TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (deployment_id, seq)
  );

  -- Who did what. No foreign keys: an entry outlives what it is about.
  CREATE TABLE audit (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    source TEXT,
    action TEXT NOT NULL,
    asset_uuid TEXT NOT NULL,
    app TEXT NOT NULL,
    outcome TEXT NOT NULL,
    details TEXT NOT NULL
  );
  CREATE INDEX audit_by_account ON audit (account_id, at, id);
  CREATE INDEX audit_by_age ON audit (at);
`;

/**
 * Counts what accounts take of what is bounded, whoever stores or removes it. By statement, so that a batch counts once;
 * by shard, in order of account, so that transactions do not wait for each other.
 */
const COUNTERS = /* sql */ `
  CREATE FUNCTION add_account_bytes(account TEXT, bytes BIGINT) RETURNS void LANGUAGE sql AS $$
    INSERT INTO account_bytes (account_id, shard, stored_bytes) VALUES (account, pg_backend_pid() % 16, bytes)
    ON CONFLICT (account_id, shard) DO UPDATE SET stored_bytes = account_bytes.stored_bytes + excluded.stored_bytes
  $$;
  CREATE FUNCTION deployment_bytes(spec TEXT, options TEXT, event_bytes BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(spec) + octet_length(options) + event_bytes + 512
  $$;

  CREATE FUNCTION count_stored_deployments() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM add_account_bytes(c.account_id, c.bytes) FROM (
      SELECT account_id, sum(deployment_bytes(spec, options, event_bytes))::bigint AS bytes
      FROM stored GROUP BY account_id ORDER BY account_id) c;
    RETURN NULL;
  END $$;
  CREATE FUNCTION count_removed_deployments() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM add_account_bytes(c.account_id, -c.bytes) FROM (
      SELECT account_id, sum(deployment_bytes(spec, options, event_bytes))::bigint AS bytes
      FROM removed GROUP BY account_id ORDER BY account_id) c;
    RETURN NULL;
  END $$;
  CREATE FUNCTION count_changed_deployments() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM add_account_bytes(c.account_id, c.bytes) FROM (
      SELECT account_id, sum(bytes)::bigint AS bytes FROM (
        SELECT account_id, deployment_bytes(spec, options, event_bytes) AS bytes FROM stored
        UNION ALL SELECT account_id, -deployment_bytes(spec, options, event_bytes) FROM removed) both_sides
      GROUP BY account_id HAVING sum(bytes) <> 0 ORDER BY account_id) c;
    RETURN NULL;
  END $$;
  CREATE TRIGGER deployment_stored AFTER INSERT ON deployments REFERENCING NEW TABLE AS stored
    FOR EACH STATEMENT EXECUTE FUNCTION count_stored_deployments();
  CREATE TRIGGER deployment_changed AFTER UPDATE ON deployments REFERENCING NEW TABLE AS stored OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_changed_deployments();
  CREATE TRIGGER deployment_removed AFTER DELETE ON deployments REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_removed_deployments();

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
`;

/** The processes that serve this database. Times are milliseconds of the service's clock. */
const INSTANCES = /* sql */ `
  CREATE TABLE instances (
    id TEXT COLLATE "C" PRIMARY KEY,
    version TEXT NOT NULL,
    started_at_ms BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    is_stopping SMALLINT NOT NULL DEFAULT 0 CHECK (is_stopping IN (0, 1))
  ) WITH (fillfactor = 50);

  -- Work that one of them does at a time.
  CREATE TABLE leases (
    name TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL,
    until_ms BIGINT NOT NULL
  ) WITH (fillfactor = 50);

  -- One row.
  CREATE TABLE service_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    alive_at_ms BIGINT,
    database_identity TEXT,
    -- By how much the service's clock is behind the time of day, after jumps.
    clock_shift_ms BIGINT NOT NULL DEFAULT 0,
    clock_version BIGINT NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);
  INSERT INTO service_state (id) VALUES (1);
`;

/** Rises with each change that may take somebody's access away, so that instances see those of other processes. */
const ACCESS_VERSION = /* sql */ `
  CREATE TABLE access_version (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
  ) WITH (fillfactor = 50);
  INSERT INTO access_version (id, version) VALUES (1, 1);

  CREATE FUNCTION raise_access_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE access_version SET version = version + 1;
    RETURN NULL;
  END $$;
  CREATE TRIGGER key_revoked AFTER UPDATE OF revoked_at ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
  CREATE TRIGGER key_removed AFTER DELETE ON api_keys FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
  CREATE TRIGGER device_token_replaced AFTER UPDATE OF device_token_hash ON assets
    FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
  CREATE TRIGGER device_removed AFTER DELETE ON assets FOR EACH STATEMENT EXECUTE FUNCTION raise_access_version();
`;

export const SCHEMA_STEPS: readonly SchemaStep[] = [
  { version: 10, compatibleFrom: 10, sql: BASELINE + COUNTERS + INSTANCES + ACCESS_VERSION },
  // An earlier program knows no roles, and does not find the keys that have one: see `storedKeyHash`.
  { version: 11, compatibleFrom: 10, sql: PEOPLE + STATES },
  { version: 12, compatibleFrom: 10, sql: FLEETS },
  { version: 13, compatibleFrom: 10, sql: SIMS },
  { version: 14, compatibleFrom: 10, sql: SIM_CREDENTIALS + SIM_PLANS + ACCESS },
];
