import { MAX_INTERVALS_PER_DAY, SHORT_INTERRUPTION_S } from "../../connectivity.ts";
import { NOTABLE_HEALTH } from "../../sql/notable-health.ts";

/** How assets were. */
export const HISTORY = /* sql */ `
  -- When each device was connected. Times are Unix seconds.
  CREATE TABLE connection_intervals (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    started_at BIGINT NOT NULL,
    -- NULL: the device is connected.
    ended_at BIGINT,
    end_reason TEXT,
    -- Its number among those of the device that began on the same day, UTC.
    number_of_day INTEGER NOT NULL,
    -- How often a new connection took the place of one that was on record as open.
    takeovers INTEGER NOT NULL DEFAULT 0,
    -- Interruptions within the interval: how many, how long together, and the longest.
    interruptions INTEGER NOT NULL DEFAULT 0,
    interrupted_s BIGINT NOT NULL DEFAULT 0,
    longest_interruption_s BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_uuid, started_at)
  ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX connection_intervals_open ON connection_intervals (asset_uuid) WHERE ended_at IS NULL;
  CREATE INDEX connection_intervals_by_end ON connection_intervals (ended_at) WHERE ended_at IS NOT NULL;

  -- How devices were: what a device has sent of one day, UTC.
  CREATE TABLE health_days (
    asset_uuid TEXT COLLATE "C" NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    -- Number of the day since 1970.
    day INTEGER NOT NULL,
    -- Seconds that a row covers.
    interval_s INTEGER NOT NULL,
    -- The rows, as in health-rows.ts.
    content BYTEA NOT NULL,
    -- What apps used in each hour, as in app-health-rows.ts; NULL where none were measured.
    apps BYTEA,
    PRIMARY KEY (asset_uuid, day)
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX health_days_by_day ON health_days (interval_s, day);

  -- The newest row of each device: when it begins, Unix seconds, and its means. A device sends what follows.
  CREATE TABLE device_health (
    asset_uuid TEXT COLLATE "C" PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    cpu_percent INTEGER,
    memory_percent INTEGER,
    swap_percent INTEGER,
    disk_percent INTEGER,
    inodes_percent INTEGER,
    temperature_celsius INTEGER,
    throttled_percent INTEGER,
    signal_percent INTEGER,
    roaming_percent INTEGER,
    mobile_generation INTEGER,
    -- The rows of the last hours, as in health_days.
    recent BYTEA NOT NULL,
    -- What apps used in the newest hour, as in health_days.
    apps BYTEA
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX device_health_notable ON device_health (account_id, asset_uuid) WHERE ${NOTABLE_HEALTH};

  CREATE FUNCTION begin_connection_interval(asset TEXT, at BIGINT) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    latest connection_intervals;
    interruption BIGINT;
    number INTEGER := 1;
  BEGIN
    UPDATE connection_intervals SET ended_at = started_at, end_reason = 'lost'
    WHERE asset_uuid = asset AND ended_at IS NULL AND started_at > at;
    SELECT * INTO latest FROM connection_intervals WHERE asset_uuid = asset AND started_at <= at
    ORDER BY started_at DESC LIMIT 1;
    IF FOUND THEN
      interruption := greatest(0, at - coalesce(latest.ended_at, at));
      IF latest.ended_at IS NULL OR interruption < ${SHORT_INTERRUPTION_S}
        OR latest.number_of_day >= ${MAX_INTERVALS_PER_DAY} AND at / 86400 = latest.started_at / 86400
      THEN
        UPDATE connection_intervals SET takeovers = takeovers + (ended_at IS NULL)::int,
          interruptions = interruptions + (ended_at IS NOT NULL)::int,
          interrupted_s = interrupted_s + interruption,
          longest_interruption_s = greatest(longest_interruption_s, interruption),
          ended_at = NULL, end_reason = NULL
        WHERE asset_uuid = asset AND started_at = latest.started_at;
        RETURN;
      END IF;
      IF at / 86400 = latest.started_at / 86400 THEN number := latest.number_of_day + 1; END IF;
    END IF;
    INSERT INTO connection_intervals (asset_uuid, started_at, number_of_day) VALUES (asset, at, number)
    ON CONFLICT DO NOTHING;
  END $$;

  -- Every asset has a row in device_sessions from its registration on.
  CREATE FUNCTION note_connection() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.session_id IS NOT NULL AND new.session_id IS DISTINCT FROM old.session_id THEN
      PERFORM begin_connection_interval(new.asset_uuid, new.last_seen_at);
    ELSIF new.instance_id IS NULL AND old.instance_id IS NOT NULL THEN
      UPDATE connection_intervals SET ended_at = greatest(started_at, new.last_seen_at), end_reason = new.end_reason
      WHERE asset_uuid = new.asset_uuid AND ended_at IS NULL;
    ELSIF new.instance_id IS NOT NULL AND old.instance_id IS NULL THEN
      -- Another instance had ended the session, which its own instance takes up again.
      UPDATE connection_intervals SET ended_at = NULL, end_reason = NULL
      WHERE asset_uuid = new.asset_uuid
        AND started_at = (SELECT max(started_at) FROM connection_intervals WHERE asset_uuid = new.asset_uuid)
        AND NOT EXISTS (SELECT 1 FROM connection_intervals WHERE asset_uuid = new.asset_uuid AND ended_at IS NULL);
    END IF;
    RETURN NULL;
  END $$;

  CREATE TRIGGER connection_noted AFTER UPDATE OF instance_id, session_id ON device_sessions
    FOR EACH ROW EXECUTE FUNCTION note_connection();
`;
