/** Users, their sessions and codes, and log-ins of programs. */
export const PEOPLE = /* sql */ `
  CREATE TABLE users (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    email TEXT NOT NULL,
    -- The address as it is compared. It belongs to one user of the service, since people name no account to sign in.
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
`;
