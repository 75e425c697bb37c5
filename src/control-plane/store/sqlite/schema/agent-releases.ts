/** Releases of the agent for devices to fetch. */
export const AGENT_RELEASES = /* sql */ `
  CREATE TABLE agent_releases (
    version TEXT PRIMARY KEY,
    -- Of the image index.
    digest TEXT NOT NULL,
    -- Their sizes, as JSON.
    images TEXT NOT NULL,
    added_at INTEGER NOT NULL
  ) STRICT;

  -- Documents and layers. Releases may have some in common.
  CREATE TABLE agent_release_parts (
    version TEXT NOT NULL REFERENCES agent_releases (version) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    artifact_type TEXT,
    -- Digest of the manifest that it refers to.
    subject TEXT,
    PRIMARY KEY (version, digest)
  ) STRICT;
  CREATE INDEX agent_release_parts_by_digest ON agent_release_parts (digest);
  CREATE INDEX agent_release_parts_by_subject ON agent_release_parts (subject) WHERE subject IS NOT NULL;

  -- The bytes of the parts. Stored before the release they are of, in transactions of their own.
  CREATE TABLE agent_release_pieces (
    digest TEXT NOT NULL,
    position INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (digest, position)
  ) STRICT;
`;
