/** Contents of apps' files that are too large for a request, for the devices of an account to fetch. */
export const UPLOADS = /* sql */ `
  CREATE TABLE uploads (
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- Of the bytes, which are compressed.
    sha256 TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL,
    is_complete SMALLINT NOT NULL DEFAULT 0 CHECK (is_complete IN (0, 1)),
    used_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, sha256)
  );
  CREATE INDEX uploads_by_use ON uploads (used_at);

  -- Removed after their upload, a few at a time.
  CREATE TABLE upload_pieces (
    account_id TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    position INTEGER NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (account_id, sha256, position)
  );
  -- It is compressed already.
  ALTER TABLE upload_pieces ALTER COLUMN content SET STORAGE EXTERNAL;

  -- The uploads that a command names: its device may fetch them until it has ended.
  CREATE TABLE deployment_uploads (
    deployment_id TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    account_id TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (deployment_id, sha256)
  );
  CREATE INDEX deployment_uploads_by_sha256 ON deployment_uploads (account_id, sha256);

  -- The uploads that the apps of a revision need.
  CREATE TABLE revision_uploads (
    fleet_id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (fleet_id, number, sha256),
    FOREIGN KEY (fleet_id, number) REFERENCES fleet_revisions (fleet_id, number) ON DELETE CASCADE
  );
  CREATE INDEX revision_uploads_by_sha256 ON revision_uploads (sha256);
`;
