/** Accounts, their API keys and their audit log. */
export const ACCOUNTS = /* sql */ `
  CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- Counted by triggers, so that nothing is stored or removed without being counted.
    stored_bytes INTEGER NOT NULL DEFAULT 0,
    asset_count INTEGER NOT NULL DEFAULT 0,
    -- Whether new and replaced devices are accepted by themselves.
    auto_accept INTEGER NOT NULL DEFAULT 0 CHECK (auto_accept IN (0, 1)),
    operators_update_agents INTEGER NOT NULL DEFAULT 0 CHECK (operators_update_agents IN (0, 1))
  ) STRICT;

  CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER,
    -- A JSON array of what the key may do besides what every key may.
    permissions TEXT NOT NULL DEFAULT '[]',
    -- What a key may do, until when, and the user who created it.
    role TEXT NOT NULL DEFAULT 'admin' CHECK (role IN ('viewer', 'installer', 'operator', 'admin')),
    expires_at INTEGER,
    created_by TEXT,
    -- The user whose log-in in a browser made the key; it falls with the user.
    login_user_id TEXT,
    -- The user, or the key of no person, that the line of makers of a key begins with; NULL: itself.
    origin_id TEXT,
    -- Whether it falls with the person that is its origin.
    is_personal INTEGER NOT NULL DEFAULT 0 CHECK (is_personal IN (0, 1))
  ) STRICT;
  CREATE INDEX api_keys_of_logins ON api_keys (login_user_id) WHERE login_user_id IS NOT NULL;
  CREATE INDEX api_keys_by_origin ON api_keys (origin_id) WHERE origin_id IS NOT NULL;
  CREATE INDEX api_keys_by_maker ON api_keys (created_by) WHERE created_by IS NOT NULL;

  -- Requests with an Idempotency-Key, and what came of them.
  CREATE TABLE idempotent_requests (
    account_id TEXT NOT NULL REFERENCES accounts (id),
    key_hash BLOB NOT NULL,
    principal_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    started_at_ms INTEGER NOT NULL,
    -- Whether its change was made.
    is_applied INTEGER NOT NULL DEFAULT 0 CHECK (is_applied IN (0, 1)),
    -- Encrypted with a key that only the sender of the request has.
    response BLOB,
    response_bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, key_hash)
  ) STRICT;
  CREATE INDEX idempotent_requests_of_account ON idempotent_requests (account_id, started_at_ms, response_bytes);
  CREATE INDEX idempotent_requests_by_age ON idempotent_requests (started_at_ms);

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
    details TEXT NOT NULL,
    -- As they were called when it happened: both may be renamed or removed later.
    actor_name TEXT,
    subject_kind TEXT,
    subject_id TEXT,
    subject_name TEXT
  ) STRICT;
  CREATE INDEX audit_by_account ON audit (account_id, at, id);
  CREATE INDEX audit_by_age ON audit (at);
  CREATE INDEX audit_by_actor ON audit (account_id, actor_id, at, id);
  CREATE INDEX audit_by_asset ON audit (account_id, asset_uuid, at, id);
  CREATE INDEX audit_by_action ON audit (account_id, action, at, id);
  CREATE INDEX audit_of_failures ON audit (account_id, at, id) WHERE outcome <> 'ok';
`;
