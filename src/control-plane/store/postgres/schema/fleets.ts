/** Fleets with their revisions, rollouts and targets. Times are Unix milliseconds. */
export const FLEETS = /* sql */ `
  CREATE TABLE fleets (
    id TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    name TEXT COLLATE "C" NOT NULL,
    selector TEXT COLLATE "C" NOT NULL,
    apps TEXT NOT NULL,
    strategy TEXT NOT NULL,
    on_drift TEXT COLLATE "C" NOT NULL DEFAULT 'report' CHECK (on_drift IN ('report', 'repair')),
    stable_revision BIGINT,
    last_revision BIGINT NOT NULL DEFAULT 0,
    paused_reason TEXT,
    created_at_ms BIGINT NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    UNIQUE (account_id, name)
  );

  CREATE TABLE fleet_revisions (
    fleet_id TEXT COLLATE "C" NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    apps TEXT NOT NULL,
    -- The version that the agent must have at least.
    agent_version TEXT,
    hash TEXT COLLATE "C" NOT NULL,
    comment TEXT,
    created_at_ms BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (fleet_id, number)
  );
  CREATE INDEX fleet_revisions_by_key ON fleet_revisions (key_id);

  -- Which fleet an app of an asset belongs to: one at most.
  CREATE TABLE app_owners (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    app TEXT COLLATE "C" NOT NULL,
    fleet_id TEXT COLLATE "C" NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    PRIMARY KEY (asset_uuid, app)
  );
  CREATE INDEX app_owners_by_fleet ON app_owners (fleet_id, asset_uuid);

  -- How the members of fleets are, as they were judged last.
  CREATE TABLE fleet_members (
    fleet_id TEXT COLLATE "C" NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    -- The revision that it was last seen running as a whole.
    revision BIGINT,
    -- NULL: it was not judged yet.
    state TEXT COLLATE "C",
    since_ms BIGINT,
    waits_for TEXT COLLATE "C",
    until_ms BIGINT,
    message TEXT,
    -- How its apps differ from the revision that it is to run, in JSON.
    differences TEXT,
    -- When it must be judged again even if nothing happens.
    due_ms BIGINT,
    -- How often it was repaired since it was last current for a day, and when last.
    repairs INTEGER NOT NULL DEFAULT 0,
    repaired_at_ms BIGINT,
    PRIMARY KEY (fleet_id, asset_uuid)
  );
  CREATE INDEX fleet_members_by_asset ON fleet_members (asset_uuid);
  CREATE INDEX fleet_members_by_state ON fleet_members (fleet_id, state, asset_uuid);
  CREATE INDEX fleet_members_due ON fleet_members (due_ms) WHERE due_ms IS NOT NULL;

  CREATE TABLE rollouts (
    id TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    fleet_id TEXT COLLATE "C" NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    -- 'upkeep': the one of each fleet that brings members to its stable revision outside of rollouts.
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('rollout', 'upkeep')),
    -- The rollout whose failed assets alone it takes.
    retry_of TEXT COLLATE "C",
    revision BIGINT NOT NULL,
    previous_revision BIGINT,
    state TEXT COLLATE "C" NOT NULL,
    strategy TEXT NOT NULL,
    wave BIGINT NOT NULL,
    wave_sizes TEXT NOT NULL,
    wave_entered_at_ms BIGINT,
    advance_to BIGINT,
    accepted_failures BIGINT NOT NULL DEFAULT 0,
    reason TEXT,
    created_by TEXT NOT NULL,
    approved_by TEXT,
    -- Who paused it or had it go back, in JSON; NULL: it stopped by itself, or has not.
    stopped_by TEXT,
    created_at_ms BIGINT NOT NULL,
    started_at_ms BIGINT,
    finished_at_ms BIGINT,
    epoch BIGINT NOT NULL DEFAULT 0,
    version BIGINT NOT NULL DEFAULT 1,
    last_seq BIGINT NOT NULL DEFAULT 0,
    -- Whether a coordinator looks after it: it is not over, or targets of it are still under way.
    is_active SMALLINT NOT NULL CHECK (is_active IN (0, 1))
  );
  -- Ids rise with the time.
  CREATE INDEX rollouts_by_fleet ON rollouts (fleet_id, kind, id);
  CREATE INDEX rollouts_ended ON rollouts (finished_at_ms) WHERE is_active = 0;
  CREATE UNIQUE INDEX rollouts_of_upkeep ON rollouts (fleet_id) WHERE kind = 'upkeep';
  CREATE INDEX rollouts_active ON rollouts (id) WHERE is_active = 1;

  CREATE TABLE rollout_targets (
    rollout_id TEXT COLLATE "C" NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    wave BIGINT NOT NULL,
    direction TEXT COLLATE "C" NOT NULL CHECK (direction IN ('forward', 'back')),
    state TEXT COLLATE "C" NOT NULL,
    waits_for TEXT COLLATE "C",
    attempt BIGINT NOT NULL DEFAULT 0,
    failed_attempts BIGINT NOT NULL DEFAULT 0,
    attempts_before BIGINT NOT NULL DEFAULT 0,
    deployment_id TEXT COLLATE "C",
    was_attempted SMALLINT NOT NULL DEFAULT 0 CHECK (was_attempted IN (0, 1)),
    begun_at_ms BIGINT,
    soak_since_ms BIGINT,
    down_since_ms BIGINT,
    away_since_ms BIGINT,
    since_ms BIGINT NOT NULL,
    due_ms BIGINT,
    code TEXT COLLATE "C",
    message TEXT,
    PRIMARY KEY (rollout_id, asset_uuid)
  );
  CREATE INDEX rollout_targets_by_asset ON rollout_targets (asset_uuid);
  CREATE INDEX rollout_targets_due ON rollout_targets (rollout_id, due_ms) WHERE due_ms IS NOT NULL;
  CREATE INDEX rollout_targets_by_state ON rollout_targets (rollout_id, state, wave, asset_uuid);

  -- What people have seen before they start it. The waves are a list of lists of UUIDs in JSON.
  CREATE TABLE rollout_plans (
    id TEXT COLLATE "C" PRIMARY KEY,
    account_id TEXT COLLATE "C" NOT NULL,
    fleet_id TEXT COLLATE "C" NOT NULL REFERENCES fleets (id) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    strategy TEXT NOT NULL,
    waves TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
  );
  CREATE INDEX rollout_plans_by_account ON rollout_plans (account_id, created_at_ms);
  CREATE INDEX rollout_plans_by_fleet ON rollout_plans (fleet_id);

  -- Attempts that have ended and that their target does not tell of any more, or that have failed.
  CREATE TABLE rollout_attempts (
    rollout_id TEXT COLLATE "C" NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    direction TEXT COLLATE "C" NOT NULL CHECK (direction IN ('forward', 'back')),
    attempt BIGINT NOT NULL,
    -- What the target was at its end.
    state TEXT COLLATE "C" NOT NULL,
    code TEXT COLLATE "C",
    message TEXT,
    deployment_id TEXT COLLATE "C",
    begun_at_ms BIGINT,
    ended_at_ms BIGINT NOT NULL,
    -- The last lines of the app's output.
    logs TEXT,
    PRIMARY KEY (rollout_id, asset_uuid, direction, attempt)
  );
  CREATE INDEX rollout_attempts_by_asset ON rollout_attempts (asset_uuid);

  CREATE TABLE rollout_events (
    rollout_id TEXT COLLATE "C" NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (rollout_id, seq)
  );
`;
