/** Fleets with their revisions, rollouts and targets. Times are Unix milliseconds. */
export const FLEETS = /* sql */ `
  CREATE TABLE fleets (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    selector TEXT NOT NULL,
    apps TEXT NOT NULL,
    strategy TEXT NOT NULL,
    on_drift TEXT NOT NULL DEFAULT 'report' CHECK (on_drift IN ('report', 'repair')),
    stable_revision INTEGER,
    last_revision INTEGER NOT NULL DEFAULT 0,
    paused_reason TEXT,
    created_at_ms INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    UNIQUE (account_id, name)
  ) STRICT;

  CREATE TABLE fleet_revisions (
    fleet_id TEXT NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    apps TEXT NOT NULL,
    -- The version that the agent must have at least.
    agent_version TEXT,
    hash TEXT NOT NULL,
    comment TEXT,
    created_at_ms INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (fleet_id, number)
  ) STRICT;
  CREATE INDEX fleet_revisions_by_key ON fleet_revisions (key_id);

  -- Which fleet an app of an asset belongs to: one at most.
  CREATE TABLE app_owners (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    app TEXT NOT NULL,
    fleet_id TEXT NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    PRIMARY KEY (asset_uuid, app)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX app_owners_by_fleet ON app_owners (fleet_id, asset_uuid);

  -- How the members of fleets are, as they were judged last.
  CREATE TABLE fleet_members (
    fleet_id TEXT NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    -- The revision that it was last seen running as a whole.
    revision INTEGER,
    -- NULL: it was not judged yet.
    state TEXT,
    since_ms INTEGER,
    waits_for TEXT,
    until_ms INTEGER,
    message TEXT,
    -- How its apps differ from the revision that it is to run, in JSON.
    differences TEXT,
    -- When it must be judged again even if nothing happens.
    due_ms INTEGER,
    -- How often it was repaired since it was last current for a day, and when last.
    repairs INTEGER NOT NULL DEFAULT 0,
    repaired_at_ms INTEGER,
    PRIMARY KEY (fleet_id, asset_uuid)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX fleet_members_by_asset ON fleet_members (asset_uuid);
  CREATE INDEX fleet_members_by_state ON fleet_members (fleet_id, state, asset_uuid);
  CREATE INDEX fleet_members_due ON fleet_members (due_ms) WHERE due_ms IS NOT NULL;

  CREATE TABLE rollouts (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    fleet_id TEXT NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    -- 'upkeep': the one of each fleet that brings members to its stable revision outside of rollouts.
    kind TEXT NOT NULL CHECK (kind IN ('rollout', 'upkeep')),
    -- The rollout whose failed assets alone it takes.
    retry_of TEXT,
    revision INTEGER NOT NULL,
    previous_revision INTEGER,
    state TEXT NOT NULL,
    strategy TEXT NOT NULL,
    wave INTEGER NOT NULL,
    wave_sizes TEXT NOT NULL,
    wave_entered_at_ms INTEGER,
    advance_to INTEGER,
    accepted_failures INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    created_by TEXT NOT NULL,
    approved_by TEXT,
    -- Who paused it or had it go back, in JSON; NULL: it stopped by itself, or has not.
    stopped_by TEXT,
    created_at_ms INTEGER NOT NULL,
    started_at_ms INTEGER,
    finished_at_ms INTEGER,
    epoch INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1,
    last_seq INTEGER NOT NULL DEFAULT 0,
    -- Whether a coordinator looks after it: it is not over, or targets of it are still under way.
    is_active INTEGER NOT NULL CHECK (is_active IN (0, 1))
  ) STRICT;
  -- Ids rise with the time.
  CREATE INDEX rollouts_by_fleet ON rollouts (fleet_id, kind, id);
  CREATE INDEX rollouts_ended ON rollouts (finished_at_ms) WHERE is_active = 0;
  CREATE UNIQUE INDEX rollouts_of_upkeep ON rollouts (fleet_id) WHERE kind = 'upkeep';
  CREATE INDEX rollouts_active ON rollouts (id) WHERE is_active = 1;

  CREATE TABLE rollout_targets (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    wave INTEGER NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('forward', 'back')),
    state TEXT NOT NULL,
    waits_for TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    failed_attempts INTEGER NOT NULL DEFAULT 0,
    attempts_before INTEGER NOT NULL DEFAULT 0,
    deployment_id TEXT,
    was_attempted INTEGER NOT NULL DEFAULT 0 CHECK (was_attempted IN (0, 1)),
    begun_at_ms INTEGER,
    soak_since_ms INTEGER,
    down_since_ms INTEGER,
    away_since_ms INTEGER,
    since_ms INTEGER NOT NULL,
    due_ms INTEGER,
    code TEXT,
    message TEXT,
    PRIMARY KEY (rollout_id, asset_uuid)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rollout_targets_by_asset ON rollout_targets (asset_uuid);
  CREATE INDEX rollout_targets_due ON rollout_targets (rollout_id, due_ms) WHERE due_ms IS NOT NULL;
  CREATE INDEX rollout_targets_by_state ON rollout_targets (rollout_id, state, wave, asset_uuid);

  -- What people have seen before they start it. The waves are a list of lists of UUIDs in JSON.
  CREATE TABLE rollout_plans (
    id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL,
    fleet_id TEXT NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    strategy TEXT NOT NULL,
    waves TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX rollout_plans_by_account ON rollout_plans (account_id, created_at_ms);
  CREATE INDEX rollout_plans_by_fleet ON rollout_plans (fleet_id);

  -- Attempts that have ended and that their target does not tell of any more, or that have failed.
  CREATE TABLE rollout_attempts (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    direction TEXT NOT NULL CHECK (direction IN ('forward', 'back')),
    attempt INTEGER NOT NULL,
    -- What the target was at its end.
    state TEXT NOT NULL,
    code TEXT,
    message TEXT,
    deployment_id TEXT,
    begun_at_ms INTEGER,
    ended_at_ms INTEGER NOT NULL,
    -- The last lines of the app's output.
    logs TEXT,
    PRIMARY KEY (rollout_id, asset_uuid, direction, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX rollout_attempts_by_asset ON rollout_attempts (asset_uuid);

  CREATE TABLE rollout_events (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (rollout_id, seq)
  ) STRICT, WITHOUT ROWID;
`;
