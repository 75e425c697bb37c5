/** The processes that serve the database, and what they share. Times are milliseconds of the service's clock. */
export const INSTANCES = /* sql */ `
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

  -- Keys with which they seal what they tell each other, sealed by the key file's key key_id, if there is one.
  CREATE TABLE bus_keys (
    id TEXT PRIMARY KEY,
    key_id TEXT,
    sealed BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT;

  -- One row.
  CREATE TABLE service_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    alive_at_ms INTEGER,
    database_identity TEXT,
    -- By how much the service's clock is behind the time of day, after jumps.
    clock_shift_ms INTEGER NOT NULL DEFAULT 0,
    clock_version INTEGER NOT NULL DEFAULT 0,
    -- What the service knows of the time, in JSON: see TimeMark.
    time_mark TEXT
  ) STRICT;

  INSERT INTO service_state (id) VALUES (1);
`;
