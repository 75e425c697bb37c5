/** Users, their sessions and codes, and log-ins of programs. */
export const PEOPLE = /* sql */ `
  CREATE TABLE users (
    id TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    email TEXT NOT NULL,
    -- The address as it is compared. It belongs to one user of the service, since people name no account to sign in.
    email_key TEXT COLLATE "C" NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'installer', 'operator', 'admin')),
    -- NULL until an invitation is accepted, and for users who sign in at a provider.
    password_hash TEXT,
    oidc_issuer TEXT COLLATE "C",
    oidc_subject TEXT COLLATE "C",
    is_disabled SMALLINT NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
    created_at BIGINT NOT NULL,
    last_sign_in_at BIGINT
  );
  CREATE INDEX users_by_account ON users (account_id, created_at, id);
  CREATE UNIQUE INDEX users_by_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;

  CREATE TABLE user_sessions (
    hash BYTEA PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    source TEXT,
    method TEXT NOT NULL
  );
  CREATE INDEX user_sessions_by_user ON user_sessions (user_id, last_used_at);

  -- Browsers in which users have signed in: attempts in them are not slowed down by those of strangers.
  CREATE TABLE browser_tokens (
    hash BYTEA PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL
  );
  CREATE INDEX browser_tokens_by_user ON browser_tokens (user_id, last_used_at);

  -- Codes of links: to set up the service or an account, to accept an invitation, to choose another password.
  CREATE TABLE one_time_codes (
    hash BYTEA PRIMARY KEY,
    purpose TEXT COLLATE "C" NOT NULL CHECK (purpose IN ('setup', 'invitation', 'reset')),
    account_id TEXT COLLATE "C" REFERENCES accounts (id),
    user_id TEXT COLLATE "C" REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    CHECK ((purpose = 'setup') = (user_id IS NULL))
  );
  CREATE INDEX one_time_codes_by_user ON one_time_codes (user_id);

  -- Log-ins of programs that wait for a person to confirm them, or for the program to fetch its key.
  CREATE TABLE login_requests (
    device_code_hash BYTEA PRIMARY KEY,
    user_code_hash BYTEA NOT NULL UNIQUE,
    client_name TEXT NOT NULL,
    source TEXT,
    source_group TEXT COLLATE "C" NOT NULL,
    network TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied')),
    user_id TEXT COLLATE "C" REFERENCES users (id) ON DELETE CASCADE,
    role TEXT COLLATE "C" CHECK (role IN ('viewer', 'installer', 'operator', 'admin')),
    key_expires_at BIGINT,
    CHECK ((state = 'pending') = (user_id IS NULL))
  );
  CREATE INDEX login_requests_by_source ON login_requests (source_group);
  CREATE INDEX login_requests_by_network ON login_requests (network);
  CREATE INDEX login_requests_by_age ON login_requests (expires_at);
  CREATE INDEX login_requests_by_user ON login_requests (user_id) WHERE user_id IS NOT NULL;

  CREATE TRIGGER user_changed AFTER UPDATE OF role, password_hash, is_disabled ON users
    FOR EACH STATEMENT EXECUTE FUNCTION raise_people_version();

  CREATE TRIGGER user_removed AFTER DELETE ON users FOR EACH STATEMENT EXECUTE FUNCTION raise_people_version();

  -- Not for a statement that removes none: each sign-in has one.
  CREATE FUNCTION note_closed_sessions() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT 1 FROM closed) THEN UPDATE access_version SET people_version = people_version + 1; END IF;
    RETURN NULL;
  END $$;

  CREATE TRIGGER session_closed AFTER DELETE ON user_sessions REFERENCING OLD TABLE AS closed
    FOR EACH STATEMENT EXECUTE FUNCTION note_closed_sessions();
`;
