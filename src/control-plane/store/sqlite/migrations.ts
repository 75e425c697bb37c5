import { ACCESS } from "./schema-access.ts";
import { FLEETS } from "./schema-fleets.ts";
import { SIM_CREDENTIALS } from "./schema-sim-credentials.ts";
import { SIM_PLANS } from "./schema-sim-plans.ts";
import { SIMS } from "./schema-sims.ts";
import { STATES } from "./schema-states.ts";

/** Schema of edge-control's database. Append only: a released entry is never edited. Times are Unix seconds unless named `_ms`. */
export const MIGRATIONS: readonly string[] = [
  /* sql */ `
  CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER
  ) STRICT;

  CREATE TABLE assets (
    uuid TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    serial_number TEXT NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    device_token_hash BLOB UNIQUE,
    last_seen_at INTEGER
  ) STRICT;
  CREATE INDEX assets_by_account ON assets (account_id, created_at, uuid);

  CREATE TABLE sims (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('supersim', 'prosim')),
    iccid TEXT NOT NULL,
    sid TEXT,
    imsi TEXT,
    network_group TEXT,
    service_profile TEXT,
    status TEXT NOT NULL CHECK (status IN ('active', 'inactive')),
    PRIMARY KEY (asset_uuid, kind)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sims_by_iccid ON sims (iccid);

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

  -- "bucket" is the network group (Super SIM) or the service profile (PRO SIM) the bytes were used under.
  CREATE TABLE usage_records (
    iccid TEXT NOT NULL,
    start_time INTEGER NOT NULL,
    end_time INTEGER NOT NULL,
    bucket TEXT NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (iccid, start_time, bucket)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE deployments (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    asset_uuid TEXT NOT NULL,
    app TEXT NOT NULL,
    spec TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('Running', 'Success', 'Fail')),
    code TEXT,
    created_at_ms INTEGER NOT NULL,
    deadline_at_ms INTEGER NOT NULL,
    acknowledged_at_ms INTEGER,
    cancel_requested_at_ms INTEGER,
    finished_at_ms INTEGER,
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_device_seq INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT,
    request_hash BLOB
  ) STRICT;
  CREATE INDEX deployments_by_asset ON deployments (asset_uuid, created_at_ms);
  CREATE INDEX deployments_unfinished ON deployments (asset_uuid) WHERE status = 'Running';
  CREATE UNIQUE INDEX deployments_by_idempotency_key ON deployments (account_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

  CREATE TABLE deployment_events (
    deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (deployment_id, seq)
  ) STRICT, WITHOUT ROWID;
  `,
  /* sql */ `
  CREATE INDEX deployments_finished ON deployments (finished_at_ms) WHERE finished_at_ms IS NOT NULL;
  `,
  /* sql */ `
  ALTER TABLE deployments ADD COLUMN action TEXT NOT NULL DEFAULT 'deploy';
  ALTER TABLE deployments ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
  -- Whether credentials came with the request. They themselves are never stored.
  ALTER TABLE deployments ADD COLUMN has_registry_auth INTEGER NOT NULL DEFAULT 0 CHECK (has_registry_auth IN (0, 1));

  -- What each device said last of its own accord: one row for each.
  CREATE TABLE device_reports (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    report TEXT NOT NULL,
    reported_at INTEGER NOT NULL
  ) STRICT;

  -- The last answer of each device about what it sent and received.
  CREATE TABLE device_ledgers (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    ledger TEXT NOT NULL,
    answered_at INTEGER NOT NULL
  ) STRICT;
  `,
  /* sql */ `
  -- The token a device was given to take the place of the one it has, until it connects with it.
  ALTER TABLE assets ADD COLUMN next_device_token_hash BLOB;
  CREATE UNIQUE INDEX assets_by_next_token ON assets (next_device_token_hash) WHERE next_device_token_hash IS NOT NULL;

  CREATE TABLE enrolment_codes (
    hash BLOB PRIMARY KEY,
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    nonce_hash BLOB
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX enrolment_codes_by_asset ON enrolment_codes (asset_uuid);
  `,
  /* sql */ `
  -- Rises by one with each change of the row.
  ALTER TABLE deployments ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
  -- Twice the number of the session of the device that counts, plus one once it was said that it was lost.
  ALTER TABLE deployments ADD COLUMN connection INTEGER NOT NULL DEFAULT 0;
  UPDATE deployments SET connection = 1 WHERE status = 'Running' AND EXISTS (
    SELECT 1 FROM deployment_events e WHERE e.deployment_id = deployments.id AND e.seq = deployments.last_seq
      AND e.event ->> '$.details.connection' = 'lost');
  -- Why the device has to be asked what became of it before anything else is done about it.
  ALTER TABLE deployments ADD COLUMN doubt TEXT CHECK (doubt IN ('asked', 'overdue', 'backup', 'restored'));
  -- Until when the device is waited for, where that is not "deadline_at_ms".
  ALTER TABLE deployments ADD COLUMN doubt_until_ms INTEGER;
  CREATE INDEX deployments_ended_in_doubt ON deployments (asset_uuid)
    WHERE doubt IN ('asked', 'overdue') AND status <> 'Running';
  `,
  /* sql */ `
  ALTER TABLE deployments ADD COLUMN event_bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE deployments ADD COLUMN omitted_events INTEGER NOT NULL DEFAULT 0;
  UPDATE deployments SET event_bytes = coalesce(
    (SELECT sum(octet_length(e.event)) FROM deployment_events e WHERE e.deployment_id = deployments.id), 0);

  -- What an account takes of what is bounded. Kept by triggers, so that nothing is stored or removed without being counted.
  ALTER TABLE accounts ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE accounts ADD COLUMN asset_count INTEGER NOT NULL DEFAULT 0;
  UPDATE accounts SET
    asset_count = (SELECT count(*) FROM assets a WHERE a.account_id = accounts.id);
  UPDATE accounts SET stored_bytes = d.bytes FROM
    (SELECT account_id, sum(octet_length(spec) + octet_length(options) + event_bytes + 512) AS bytes
     FROM deployments GROUP BY account_id) d WHERE d.account_id = accounts.id;
  CREATE TRIGGER deployment_stored AFTER INSERT ON deployments BEGIN
    UPDATE accounts SET stored_bytes =
      stored_bytes + octet_length(new.spec) + octet_length(new.options) + new.event_bytes + 512 WHERE id = new.account_id;
  END;
  CREATE TRIGGER deployment_changed AFTER UPDATE OF spec, event_bytes ON deployments
    WHEN octet_length(new.spec) + new.event_bytes <> octet_length(old.spec) + old.event_bytes BEGIN
    UPDATE accounts SET stored_bytes =
      stored_bytes + octet_length(new.spec) + new.event_bytes - octet_length(old.spec) - old.event_bytes
      WHERE id = new.account_id;
  END;
  CREATE TRIGGER deployment_removed AFTER DELETE ON deployments BEGIN
    UPDATE accounts SET stored_bytes =
      stored_bytes - octet_length(old.spec) - octet_length(old.options) - old.event_bytes - 512 WHERE id = old.account_id;
  END;
  CREATE TRIGGER asset_registered AFTER INSERT ON assets BEGIN
    UPDATE accounts SET asset_count = asset_count + 1 WHERE id = new.account_id;
  END;
  CREATE TRIGGER asset_removed AFTER DELETE ON assets BEGIN
    UPDATE accounts SET asset_count = asset_count - 1 WHERE id = old.account_id;
  END;

  -- Larger than any device can tell truthfully; it is asked again with the next question.
  DELETE FROM device_ledgers WHERE octet_length(ledger) > 1048576;
  `,
  /* sql */ `
  -- Since when the device holds back changes, so that the report is out of date.
  ALTER TABLE device_reports ADD COLUMN held_since INTEGER;
  `,
  /* sql */ `
  -- A JSON array of what the key may do besides what every key may.
  ALTER TABLE api_keys ADD COLUMN permissions TEXT NOT NULL DEFAULT '[]';

  -- Who did what. No foreign keys: an entry outlives what it is about.
  CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    account_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    source TEXT,
    action TEXT NOT NULL,
    asset_uuid TEXT NOT NULL,
    app TEXT NOT NULL,
    outcome TEXT NOT NULL,
    details TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_by_account ON audit (account_id, at, id);
  CREATE INDEX audit_by_age ON audit (at);
  `,
  /* sql */ `
  -- Waiting for a device; the time to acknowledge begins when the command is first due to be sent, NULL: at the request.
  ALTER TABLE deployments ADD COLUMN wait_until_ms INTEGER;
  ALTER TABLE deployments ADD COLUMN is_waiting INTEGER NOT NULL DEFAULT 0 CHECK (is_waiting IN (0, 1));
  ALTER TABLE deployments ADD COLUMN ack_since_ms INTEGER;
  -- What whoever holds the session of the device has to bring to it; NULL: nothing.
  ALTER TABLE deployments ADD COLUMN delivery TEXT CHECK (delivery IN ('command', 'cancel'));
  -- When deadlines expire, in service time. "due_at_ms" is the earlier one. Determined at each start of the service.
  ALTER TABLE deployments ADD COLUMN finish_due_ms INTEGER;
  ALTER TABLE deployments ADD COLUMN reply_due_ms INTEGER;
  ALTER TABLE deployments ADD COLUMN due_at_ms INTEGER;
  UPDATE deployments SET delivery =
    CASE WHEN cancel_requested_at_ms IS NOT NULL THEN 'cancel' WHEN acknowledged_at_ms IS NULL THEN 'command' END
    WHERE status = 'Running' AND doubt IS NULL;
  CREATE INDEX deployments_due ON deployments (due_at_ms) WHERE due_at_ms IS NOT NULL;
  CREATE INDEX deployments_undelivered ON deployments (asset_uuid) WHERE delivery IS NOT NULL;

  -- The connection of each device. A write for an epoch other than the current one is refused.
  CREATE TABLE device_sessions (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    epoch INTEGER NOT NULL DEFAULT 0,
    -- NULL: not connected.
    instance_id TEXT,
    session_id TEXT,
    protocol INTEGER,
    last_seen_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX device_sessions_by_instance ON device_sessions (instance_id) WHERE instance_id IS NOT NULL;
  -- No stored connection of a deployment is later than the first session from now on.
  INSERT INTO device_sessions (asset_uuid, epoch, last_seen_at)
    SELECT a.uuid, coalesce((SELECT max(d.connection) / 2 FROM deployments d WHERE d.asset_uuid = a.uuid), 0), a.last_seen_at
    FROM assets a;
  `,
  /* sql */ `
  -- The processes that serve this database. Times are milliseconds of the service's clock.
  CREATE TABLE instances (
    id TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    is_stopping INTEGER NOT NULL DEFAULT 0 CHECK (is_stopping IN (0, 1))
  ) STRICT, WITHOUT ROWID;

  -- Work that one of them does at a time.
  CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- One row.
  CREATE TABLE service_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    alive_at_ms INTEGER,
    database_identity TEXT,
    -- By how much the service's clock is behind the time of day, after jumps.
    clock_shift_ms INTEGER NOT NULL DEFAULT 0,
    clock_version INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  INSERT INTO service_state (id) VALUES (1);
  `,
  /* sql */ `
  -- What a key may do, until when, and the user who created it. Keys from before may do everything.
  ALTER TABLE api_keys ADD COLUMN role TEXT NOT NULL DEFAULT 'admin'
    CHECK (role IN ('viewer', 'installer', 'operator', 'admin'));
  ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
  ALTER TABLE api_keys ADD COLUMN created_by TEXT;

  CREATE TABLE users (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    email TEXT NOT NULL,
    -- The address as it is compared. It belongs to one user of the service, since nobody names an account to sign in.
    email_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'installer', 'operator', 'admin')),
    -- NULL until an invitation is accepted, and for users who sign in at a provider.
    password_hash TEXT,
    oidc_issuer TEXT,
    oidc_subject TEXT,
    is_disabled INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    last_sign_in_at INTEGER
  ) STRICT;
  CREATE INDEX users_by_account ON users (account_id, created_at, id);
  CREATE UNIQUE INDEX users_by_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;

  CREATE TABLE user_sessions (
    hash BLOB PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    source TEXT,
    method TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX user_sessions_by_user ON user_sessions (user_id, last_used_at);

  -- Browsers in which users have signed in: attempts in them are not slowed down by those of strangers.
  CREATE TABLE browser_tokens (
    hash BLOB PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX browser_tokens_by_user ON browser_tokens (user_id, last_used_at);

  -- Codes of links: to set up the service or an account, to accept an invitation, to choose another password.
  CREATE TABLE one_time_codes (
    hash BLOB PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('setup', 'invitation', 'reset')),
    account_id TEXT REFERENCES accounts (id),
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    CHECK ((purpose = 'setup') = (user_id IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX one_time_codes_by_user ON one_time_codes (user_id);

  -- As they were called when it happened: both may be renamed or removed later.
  ALTER TABLE audit ADD COLUMN actor_name TEXT;
  ALTER TABLE audit ADD COLUMN subject_kind TEXT;
  ALTER TABLE audit ADD COLUMN subject_id TEXT;
  ALTER TABLE audit ADD COLUMN subject_name TEXT;

  CREATE INDEX audit_by_actor ON audit (account_id, actor_id, at, id);
  CREATE INDEX audit_by_asset ON audit (account_id, asset_uuid, at, id);
  CREATE INDEX audit_by_action ON audit (account_id, action, at, id);
  CREATE INDEX audit_of_failures ON audit (account_id, at, id) WHERE outcome <> 'ok';

  -- The user whose log-in in a browser made the key; it falls with the user.
  ALTER TABLE api_keys ADD COLUMN login_user_id TEXT;
  CREATE INDEX api_keys_of_logins ON api_keys (login_user_id) WHERE login_user_id IS NOT NULL;

  -- Log-ins of programs that wait for a person to confirm them, or for the program to fetch its key.
  CREATE TABLE login_requests (
    device_code_hash BLOB PRIMARY KEY,
    user_code_hash BLOB NOT NULL UNIQUE,
    client_name TEXT NOT NULL,
    source TEXT,
    source_group TEXT NOT NULL,
    network TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    role TEXT CHECK (role IN ('viewer', 'installer', 'operator', 'admin')),
    key_expires_at INTEGER,
    CHECK ((state = 'pending') = (user_id IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX login_requests_by_source ON login_requests (source_group);
  CREATE INDEX login_requests_by_network ON login_requests (network);
  CREATE INDEX login_requests_by_age ON login_requests (expires_at);
  CREATE INDEX login_requests_by_user ON login_requests (user_id) WHERE user_id IS NOT NULL;
  ` + STATES,
  FLEETS,
  SIMS,
  SIM_CREDENTIALS + SIM_PLANS + ACCESS,
];
