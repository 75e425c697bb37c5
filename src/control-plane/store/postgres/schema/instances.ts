/** The processes that serve the database, and what they share. Times are milliseconds of the service's clock. */
export const INSTANCES = /* sql */ `
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

  -- Keys with which they seal what they tell each other, sealed by the key file's key key_id, if there is one.
  CREATE TABLE bus_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    key_id TEXT,
    sealed BYTEA NOT NULL,
    created_at_ms BIGINT NOT NULL
  );

  -- One row.
  CREATE TABLE service_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    alive_at_ms BIGINT,
    database_identity TEXT,
    -- By how much the service's clock is behind the time of day, after jumps.
    clock_shift_ms BIGINT NOT NULL DEFAULT 0,
    clock_version BIGINT NOT NULL DEFAULT 0,
    -- What the service knows of the time, in JSON: see TimeMark.
    time_mark TEXT
  ) WITH (fillfactor = 50);

  CREATE TABLE access_version (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL,
    -- Rises with what may take access away from people. Devices and keys are not looked at again for each sign-out.
    people_version BIGINT NOT NULL DEFAULT 1
  ) WITH (fillfactor = 50);

  INSERT INTO service_state (id) VALUES (1);

  INSERT INTO access_version (id, version) VALUES (1, 1);

  CREATE FUNCTION raise_access_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE access_version SET version = version + 1;
    RETURN NULL;
  END $$;

  CREATE FUNCTION raise_people_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE access_version SET people_version = people_version + 1;
    RETURN NULL;
  END $$;
`;
