import { MAX_INTERVALS_PER_DAY, SHORT_INTERRUPTION_S } from "../../connectivity.ts";
import { NOTABLE_HEALTH } from "../../sql/notable-health.ts";

/** The newest interval of the device that did not begin later than the session. */
const LATEST = /* sql */ `
  (SELECT max(started_at) FROM connection_intervals WHERE asset_uuid = new.asset_uuid AND started_at <= new.last_seen_at)`;
const OPEN = "asset_uuid = new.asset_uuid AND ended_at IS NULL";
const INTERRUPTION_S = "max(0, new.last_seen_at - coalesce(ended_at, new.last_seen_at))";

/** A session has begun: see `ConnectivityStore`. */
const BEGIN = /* sql */ `
    UPDATE connection_intervals SET ended_at = started_at, end_reason = 'lost'
    WHERE ${OPEN} AND started_at > new.last_seen_at;
    UPDATE connection_intervals SET takeovers = takeovers + (ended_at IS NULL),
      interruptions = interruptions + (ended_at IS NOT NULL),
      interrupted_s = interrupted_s + ${INTERRUPTION_S},
      longest_interruption_s = max(longest_interruption_s, ${INTERRUPTION_S}),
      ended_at = NULL, end_reason = NULL
    WHERE asset_uuid = new.asset_uuid AND started_at = ${LATEST}
      AND (ended_at IS NULL OR new.last_seen_at - ended_at < ${SHORT_INTERRUPTION_S}
        OR number_of_day >= ${MAX_INTERVALS_PER_DAY} AND new.last_seen_at / 86400 = started_at / 86400);
    INSERT OR IGNORE INTO connection_intervals (asset_uuid, started_at, number_of_day)
    SELECT new.asset_uuid, new.last_seen_at, 1 + coalesce((
        SELECT number_of_day FROM connection_intervals
        WHERE asset_uuid = new.asset_uuid AND started_at = ${LATEST} AND started_at / 86400 = new.last_seen_at / 86400
      ), 0)
    WHERE NOT EXISTS (SELECT 1 FROM connection_intervals WHERE ${OPEN});`;

/** How assets were. */
export const HISTORY = /* sql */ `
  -- When each device was connected. Times are Unix seconds.
  CREATE TABLE connection_intervals (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    -- NULL: the device is connected.
    ended_at INTEGER,
    end_reason TEXT,
    -- Its number among those of the device that began on the same day, UTC.
    number_of_day INTEGER NOT NULL,
    -- How often a new connection took the place of one that was on record as open.
    takeovers INTEGER NOT NULL DEFAULT 0,
    -- Interruptions within the interval: how many, how long together, and the longest.
    interruptions INTEGER NOT NULL DEFAULT 0,
    interrupted_s INTEGER NOT NULL DEFAULT 0,
    longest_interruption_s INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_uuid, started_at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX connection_intervals_open ON connection_intervals (asset_uuid) WHERE ended_at IS NULL;
  CREATE INDEX connection_intervals_by_end ON connection_intervals (ended_at) WHERE ended_at IS NOT NULL;

  -- How devices were: what a device has sent of one day, UTC.
  CREATE TABLE health_days (
    asset_uuid TEXT NOT NULL REFERENCES assets (uuid) ON DELETE CASCADE,
    -- Number of the day since 1970.
    day INTEGER NOT NULL,
    -- Seconds that a row covers.
    interval_s INTEGER NOT NULL,
    -- The rows, as in health-rows.ts.
    content BLOB NOT NULL,
    -- What apps used in each hour, as in app-health-rows.ts; NULL where none were measured.
    apps BLOB,
    PRIMARY KEY (asset_uuid, day)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX health_days_by_day ON health_days (interval_s, day);

  -- The newest row of each device: when it begins, Unix seconds, and its means. A device sends what follows.
  CREATE TABLE device_health (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT NOT NULL,
    at INTEGER NOT NULL,
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
    recent BLOB NOT NULL,
    -- What apps used in the newest hour, as in health_days.
    apps BLOB
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX device_health_notable ON device_health (account_id, asset_uuid) WHERE ${NOTABLE_HEALTH};

  CREATE TRIGGER first_connection_began AFTER INSERT ON device_sessions WHEN new.session_id IS NOT NULL BEGIN
    ${BEGIN}
  END;

  CREATE TRIGGER connection_began AFTER UPDATE OF session_id ON device_sessions
  WHEN new.session_id IS NOT NULL AND new.session_id IS NOT old.session_id BEGIN
    ${BEGIN}
  END;

  -- Another instance had ended the session, which its own instance takes up again.
  CREATE TRIGGER connection_resumed AFTER UPDATE OF instance_id ON device_sessions
  WHEN new.instance_id IS NOT NULL AND old.instance_id IS NULL AND new.session_id IS NULL BEGIN
    UPDATE connection_intervals SET ended_at = NULL, end_reason = NULL
    WHERE asset_uuid = new.asset_uuid
      AND started_at = (SELECT max(started_at) FROM connection_intervals WHERE asset_uuid = new.asset_uuid)
      AND NOT EXISTS (SELECT 1 FROM connection_intervals WHERE ${OPEN});
  END;

  CREATE TRIGGER connection_ended AFTER UPDATE OF instance_id ON device_sessions
  WHEN new.instance_id IS NULL AND old.instance_id IS NOT NULL BEGIN
    UPDATE connection_intervals SET ended_at = max(started_at, coalesce(new.last_seen_at, started_at)),
      end_reason = new.end_reason WHERE ${OPEN};
  END;
`;
