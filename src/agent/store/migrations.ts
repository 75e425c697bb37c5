/**
 * Schema of the agent's database. Until the first release, changes go into this entry; from then on a released entry is never
 * edited.
 *
 * A release adds at most one entry, and the version before, which knows the schema up to the entry before, goes on using the
 * database after it: it adds tables, and columns that have a default or may be null; it removes what the version before does not
 * use any more. `OLDEST_NEIGHBOUR` is then the first release with the entry before.
 */
export const MIGRATIONS: readonly string[] = [
  /* sql */ `
  -- What a deployment writes wears the flash. So no index, no sequence and no counter is written beside a row, ids that
  -- repeat are replaced by numbers, and rows are kept whole within one page as long as they are short: rowid tables do
  -- that, others move anything above a quarter of a page out. The tables are short enough to be searched as they are.
  CREATE TABLE deployments (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;

  -- The number of a deployment's next event follows from its last one, which stays until the deployment is forgotten.
  CREATE TABLE outbox (
    position INTEGER PRIMARY KEY,
    deployment INTEGER NOT NULL,
    device_seq INTEGER NOT NULL,
    is_progress INTEGER NOT NULL,
    is_final INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    monotonic_ms INTEGER NOT NULL,
    content TEXT NOT NULL
  ) STRICT;

  CREATE TABLE apps (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;

  -- What happened, for people. At most a few hundred rows, so that searching them needs no index to be written too.
  CREATE TABLE history (
    position INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    deployment_id TEXT,
    entry TEXT NOT NULL
  ) STRICT;

  -- Bytes over the network, by day of UTC. Rows are short, and those of one day stand together.
  CREATE TABLE traffic (
    day TEXT NOT NULL,
    network TEXT NOT NULL,
    purpose TEXT NOT NULL,
    app TEXT NOT NULL,
    deployment TEXT NOT NULL,
    sent INTEGER NOT NULL,
    received INTEGER NOT NULL,
    overhead INTEGER NOT NULL,
    PRIMARY KEY (day, network, purpose, app, deployment)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE interface_traffic (
    day TEXT NOT NULL,
    name TEXT NOT NULL,
    sent INTEGER NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (day, name)
  ) STRICT, WITHOUT ROWID;

  -- The kernel's counters when they were last looked at.
  CREATE TABLE interface_marks (
    name TEXT PRIMARY KEY,
    boot_id TEXT NOT NULL,
    sent INTEGER NOT NULL,
    received INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- What was learned, such as how long a network keeps an idle connection.
  CREATE TABLE learned (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Contents of the files of apps, by hash, or by the id of a secret. Records name them; contents that none names are
  -- removed.
  CREATE TABLE file_contents (
    id TEXT PRIMARY KEY,
    content BLOB NOT NULL
  ) STRICT;
  `,
];
