/**
 * How each asset is, for lists and counts, and the events of an account that pages show live. Filled for existing assets as
 * the functions of `core/attention.ts` decide.
 */
export const STATES = /* sql */ `
  CREATE TABLE asset_states (
    asset_uuid TEXT PRIMARY KEY REFERENCES assets (uuid) ON DELETE CASCADE,
    account_id TEXT NOT NULL,
    -- The instance that holds the session of the device; NULL: not connected.
    instance_id TEXT,
    last_seen_at INTEGER,
    agent_version TEXT,
    -- Why somebody should look at it, a bit for each.
    reasons INTEGER NOT NULL DEFAULT 0,
    -- Deployments that wait for the device.
    waiting INTEGER NOT NULL DEFAULT 0,
    -- Until then one of the reasons counts: the data budget of the day or month is spent.
    budget_spent_until INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX asset_states_connected ON asset_states (account_id, instance_id) WHERE instance_id IS NOT NULL;
  CREATE INDEX asset_states_away ON asset_states (account_id, last_seen_at, reasons) WHERE instance_id IS NULL;
  CREATE INDEX asset_states_with_reasons ON asset_states (account_id, reasons, budget_spent_until) WHERE reasons <> 0;
  CREATE TRIGGER asset_state_added AFTER INSERT ON assets BEGIN
    INSERT INTO asset_states (asset_uuid, account_id) VALUES (new.uuid, new.account_id);
  END;

  INSERT INTO asset_states (asset_uuid, account_id, instance_id, last_seen_at, agent_version, reasons, waiting, budget_spent_until)
  SELECT uuid, account_id, instance_id, last_seen_at, agent_version,
    app_reasons | CASE outcome WHEN 'Fail' THEN 16 WHEN 'InsufficientDisk' THEN 80 ELSE 0 END
      | (waiting > 0) * 32 | (spent_until IS NOT NULL) * 128,
    waiting, spent_until
  FROM (
    SELECT a.uuid, a.account_id, s.instance_id, s.last_seen_at,
      r.report ->> '$.device.agent_version' AS agent_version,
      coalesce((SELECT max(app.value ->> '$.state' = 'missing') + 2 * max(app.value ->> '$.state' = 'restarting')
          + 4 * max(app.value ->> '$.state' = 'unhealthy')
          + 8 * max(coalesce(app.value ->> '$.last_deployment.status' = 'Fail', 0)
            AND coalesce(app.value ->> '$.last_deployment.code', '') <> 'DeploymentCancelled')
        FROM json_each(r.report, '$.apps') app), 0) AS app_reasons,
      (SELECT CASE WHEN d.status <> 'Fail' THEN '' WHEN d.code = 'InsufficientDisk' THEN d.code ELSE 'Fail' END
        FROM deployments d
        WHERE d.asset_uuid = a.uuid AND d.status <> 'Running' AND coalesce(d.code, '') <> 'DeploymentCancelled'
        ORDER BY d.finished_at_ms DESC LIMIT 1) AS outcome,
      (SELECT count(*) FROM deployments d
        WHERE d.asset_uuid = a.uuid AND d.status = 'Running' AND d.is_waiting = 1) AS waiting,
      CASE
        WHEN l.ledger ->> '$.budget.used_this_month_bytes' >= l.ledger ->> '$.budget.monthly_bytes'
          THEN unixepoch(l.answered_at, 'unixepoch', 'start of month', '+1 month')
        WHEN l.ledger ->> '$.budget.used_today_bytes' >= l.ledger ->> '$.budget.daily_bytes'
          THEN (l.answered_at / 86400 + 1) * 86400
      END AS spent_until
    FROM assets a
    LEFT JOIN device_sessions s ON s.asset_uuid = a.uuid
    LEFT JOIN device_reports r ON r.asset_uuid = a.uuid
    LEFT JOIN device_ledgers l ON l.asset_uuid = a.uuid
  );

  -- The rows of an account are in the order of their commits.
  CREATE TABLE account_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX account_events_by_account ON account_events (account_id, id);

  -- Up to which id the events of an account are no longer there.
  CREATE TABLE account_event_heads (
    account_id TEXT PRIMARY KEY,
    removed_to INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;
