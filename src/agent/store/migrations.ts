/** Schema of the agent's database. Append only: a released entry is never edited. */
export const MIGRATIONS: readonly string[] = [
  /* sql */ `
  CREATE TABLE deployments (
    id TEXT PRIMARY KEY,
    next_seq INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE apps (
    name TEXT PRIMARY KEY,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- AUTOINCREMENT: a position is never given twice, so that a session's cursor stays true after deletions.
  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    device_seq INTEGER NOT NULL,
    is_progress INTEGER NOT NULL,
    is_final INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    monotonic_ms INTEGER NOT NULL,
    content TEXT NOT NULL
  ) STRICT;
  CREATE INDEX outbox_by_deployment ON outbox (deployment_id, device_seq);

  -- What happened, for people. At most a few hundred rows, so that searching them needs no index to be written too.
  CREATE TABLE history (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    deployment_id TEXT,
    entry TEXT NOT NULL
  ) STRICT;
  `,
];
