/** How the rows of one table are copied. */
export interface CopiedTable {
  readonly name: string;
  /** Columns that order the rows of the SQLite table, which has an index on them. */
  readonly key: readonly string[];
  /** Columns of SQLite that PostgreSQL has not, or determines itself. */
  readonly omitted?: readonly string[];
  /** SQLite expressions for columns that are not copied as they are. */
  readonly computed?: Readonly<Record<string, string>>;
  /** Condition, for both databases, of the rows that are copied. */
  readonly where?: string;
  /** Where a trigger of another table has made the row already: what identifies it. */
  readonly replaces?: string;
  /** Column that PostgreSQL counts by itself, from the highest value on. */
  readonly serial?: string;
}

const IS_UNFINISHED = "status = 'Running'";

const LAST_ALIVE_AT = "(SELECT (alive_at_ms + clock_shift_ms) / 1000 FROM service_state)";

/** All tables that are copied, those that others refer to first. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  // Triggers count what an account has, as the rows arrive.
  { name: "accounts", key: ["id"], omitted: ["stored_bytes", "asset_count"] },
  { name: "api_keys", key: ["id"] },
  { name: "assets", key: ["uuid"], omitted: ["last_seen_at"] },
  { name: "sims", key: ["asset_uuid", "kind"] },
  { name: "identifiers", key: ["value"] },
  { name: "network_groups", key: ["account_id", "name"] },
  { name: "data_plan_settings", key: ["account_id"] },
  { name: "usage_series", key: ["id"], serial: "id" },
  { name: "usage_records", key: ["series_id", "start_time"] },
  { name: "sim_usage", key: ["asset_uuid", "kind", "period", "start_time", "bucket"] },
  { name: "sim_usage_reads", key: ["asset_uuid", "kind", "period"] },
  { name: "sim_operator_credentials", key: ["account_id", "kind"] },
  { name: "enrolment_codes", key: ["hash"] },
  { name: "device_reports", key: ["asset_uuid"] },
  { name: "device_ledgers", key: ["asset_uuid"] },
  {
    name: "device_sessions",
    key: ["asset_uuid"],
    // No device is connected while nothing serves it.
    omitted: ["instance_id", "session_id"],
    where: "(epoch > 0 OR protocol IS NOT NULL OR last_seen_at IS NOT NULL)",
    replaces: "asset_uuid",
  },
  {
    name: "connection_intervals",
    key: ["asset_uuid", "started_at"],
    // As at the next start: no device is connected, since the service was last known to run.
    computed: {
      ended_at: `coalesce(ended_at, max(started_at, coalesce(${LAST_ALIVE_AT}, 0)))`,
      end_reason: "coalesce(end_reason, 'service')",
    },
  },
  { name: "health_days", key: ["asset_uuid", "day"] },
  { name: "device_health", key: ["asset_uuid"] },
  {
    name: "asset_states",
    key: ["asset_uuid"],
    omitted: ["instance_id"],
    replaces: "asset_uuid",
  },
  {
    name: "deployments",
    key: ["rowid"],
    computed: {
      stored_seq: "rowid",
      // As in a backup: the device is asked for the outcome before anything is undone.
      uncertainty: `CASE WHEN ${IS_UNFINISHED} THEN 'backup' ELSE uncertainty END`,
      version: `version + (${IS_UNFINISHED})`,
    },
    serial: "stored_seq",
  },
  { name: "deployment_events", key: ["deployment_id", "seq"] },
  { name: "audit", key: ["id"], serial: "id" },
  { name: "users", key: ["id"] },
  { name: "user_sessions", key: ["hash"] },
  { name: "browser_tokens", key: ["hash"] },
  { name: "one_time_codes", key: ["hash"] },
  { name: "sealing_keys", key: ["id"] },
  { name: "asset_tags", key: ["asset_uuid", "key"] },
  { name: "asset_variables", key: ["asset_uuid", "name"] },
  { name: "asset_holds", key: ["asset_uuid"] },
  { name: "fleets", key: ["id"] },
  { name: "fleet_revisions", key: ["fleet_id", "number"] },
  { name: "app_owners", key: ["asset_uuid", "app"] },
  { name: "alerts", key: ["id"] },
  { name: "alert_rules", key: ["account_id"] },
  { name: "alert_routes", key: ["account_id", "name"] },
  { name: "alert_channels", key: ["account_id", "name"] },
  { name: "silences", key: ["id"] },
  { name: "alert_groups", key: ["id"] },
  { name: "alert_group_members", key: ["group_id", "alert_id"] },
  { name: "alert_deliveries", key: ["id"], serial: "id" },
  { name: "device_habits", key: ["asset_uuid"] },
  { name: "service_troubles", key: ["account_id", "condition", "subject_id"] },
  { name: "fleet_members", key: ["fleet_id", "asset_uuid"] },
  { name: "rollouts", key: ["id"] },
  { name: "rollout_targets", key: ["rollout_id", "asset_uuid"] },
  { name: "rollout_plans", key: ["id"] },
  { name: "rollout_attempts", key: ["rollout_id", "asset_uuid", "direction", "attempt"] },
  { name: "rollout_events", key: ["rollout_id", "seq"] },
  { name: "agent_releases", key: ["version"] },
  { name: "agent_release_parts", key: ["version", "digest"] },
  { name: "agent_release_pieces", key: ["digest", "position"] },
  { name: "uploads", key: ["account_id", "sha256"] },
  { name: "upload_pieces", key: ["account_id", "sha256", "position"] },
  { name: "deployment_uploads", key: ["deployment_id", "sha256"] },
  { name: "revision_uploads", key: ["fleet_id", "number", "sha256"] },
];

/**
 * Tables that belong to one database: its processes, what lasts minutes, and its events, whose readers begin anew with another
 * one.
 */
export const OMITTED_TABLES: readonly string[] = [
  "instances",
  "leases",
  "service_state",
  "alert_rounds",
  "bus_keys",
  "login_requests",
  "idempotent_requests",
  "account_events",
  "account_event_heads",
];
