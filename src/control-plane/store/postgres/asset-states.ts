import { ACCEPTANCE_BIT, BUDGET_BIT, OUTCOME_BITS, WAITING_BIT } from "../../core/attention.ts";

/*
 * Parts of statements that write how assets are, and what their account is told of it, with the change that it follows from.
 * Rows of asset_states are locked in order of the asset, after those of device_sessions and of deployments.
 */

/** Returns CTEs that lock the states of the assets of a relation in order, and read what other rows follow from. */
const lockedStates = (assets: string): string => /* sql */ `
  locked_states AS MATERIALIZED (
    SELECT t.asset_uuid, t.reasons, t.waiting, t.budget_spent_until FROM asset_states t WHERE t.asset_uuid IN (SELECT asset_uuid FROM ${assets})
    ORDER BY t.asset_uuid FOR NO KEY UPDATE
  )`;

/**
 * CTEs for sessions that have begun. Each has `asset_uuid`, `instance_id`, and may have `at` and `agent_version`.
 * `told` returns the accounts.
 *
 * @param began relation with the sessions
 */
export const connectedStates = (began: string): string => /* sql */ `
  ${lockedStates(began)}, states AS (
    UPDATE asset_states t SET instance_id = b.instance_id, last_seen_at = coalesce(b.at, t.last_seen_at),
      agent_version = coalesce(b.agent_version, t.agent_version),
      reasons = CASE WHEN t.accepted_at IS NULL THEN t.reasons | ${ACCEPTANCE_BIT} ELSE t.reasons END
    FROM ${began} b JOIN locked_states l ON l.asset_uuid = b.asset_uuid
    WHERE t.asset_uuid = b.asset_uuid
    RETURNING t.account_id, t.asset_uuid, t.agent_version
  ), told AS (
    INSERT INTO account_events (account_id, event)
    SELECT account_id, json_build_object('type', 'device.connected', 'asset_id', asset_uuid,
      'agent_version', coalesce(agent_version, ''))::text FROM states
    RETURNING account_id
  )`;

/** The same for sessions that have ended. Each has `asset_uuid`, and may have `at`. */
export const disconnectedStates = (ended: string): string => /* sql */ `
  ${lockedStates(ended)}, states AS (
    UPDATE asset_states t SET instance_id = NULL, last_seen_at = coalesce(e.at, t.last_seen_at)
    FROM ${ended} e JOIN locked_states l ON l.asset_uuid = e.asset_uuid
    WHERE t.asset_uuid = e.asset_uuid AND t.instance_id IS NOT NULL
    RETURNING t.account_id, t.asset_uuid, t.last_seen_at
  ), told AS (
    INSERT INTO account_events (account_id, event)
    SELECT account_id, json_strip_nulls(json_build_object('type', 'device.disconnected', 'asset_id', asset_uuid,
      'last_seen', last_seen_at))::text FROM states
    RETURNING account_id
  )`;

/** Which accounts were told, for the end of the statement. */
export const TOLD_ACCOUNTS = "(SELECT array_agg(DISTINCT account_id) FROM told)";

/** The bits that count at a time, of a relation with `reasons` and `budget_spent_until`: see `bitsAt`. */
const bitsAt = (relation: string, at: string): string =>
  `CASE WHEN ${relation}.budget_spent_until > ${at} THEN ${relation}.reasons ELSE ${relation}.reasons & ~${BUDGET_BIT} END`;

/** The bits of the reasons are spelled out where the event is read. */
const tellReported = (states: string, at: string): string => /* sql */ `
  INSERT INTO account_events (account_id, event)
  SELECT account_id, json_build_object('type', 'device.reported', 'asset_id', asset_uuid,
    'attention', ${bitsAt("r", at)})::text
  FROM ${states} r RETURNING account_id`;

/**
 * CTEs for a report that was stored. The state is written only if it changes. It is read with a lock: without one it might be
 * from before a change that the report has waited for, and the event later than that of the change.
 *
 * @param stored relation with a row if it was
 * @param parameters the asset, the bits that are set, of which, the version of the agent, and the time
 */
export const reportedState = (
  stored: string,
  { asset, bits, told, version, at }: Readonly<Record<"asset" | "bits" | "told" | "version" | "at", string>>,
): string => /* sql */ `
  found AS MATERIALIZED (
    SELECT t.account_id, t.asset_uuid, t.reasons, t.agent_version, t.budget_spent_until FROM asset_states t
    WHERE t.asset_uuid = ${asset} AND EXISTS (SELECT 1 FROM ${stored}) FOR NO KEY UPDATE
  ), shown AS MATERIALIZED (
    SELECT f.account_id, f.asset_uuid, f.budget_spent_until, (f.reasons & ~${told}::int) | ${bits}::int AS reasons,
      coalesce(${version}::text, f.agent_version) AS agent_version,
      (f.reasons & ${told}::int) <> ${bits}::int
        OR f.agent_version IS DISTINCT FROM coalesce(${version}::text, f.agent_version) AS is_changed
    FROM found f
  ), states AS (
    UPDATE asset_states t SET reasons = s.reasons, agent_version = s.agent_version
    FROM shown s WHERE t.asset_uuid = s.asset_uuid AND s.is_changed
  ), told AS (${tellReported("shown", at)})`;

/** A ledger was stored. Its parameters are the asset, until when the budget is spent, and when the device said so. */
export const TELL_BUDGET = /* sql */ `
  WITH states AS (
    UPDATE asset_states t SET budget_spent_until = $2::bigint,
      reasons = CASE WHEN $2::bigint IS NULL THEN t.reasons & ~${BUDGET_BIT} ELSE t.reasons | ${BUDGET_BIT} END
    WHERE t.asset_uuid = $1 AND t.budget_spent_until IS DISTINCT FROM $2::bigint
    RETURNING t.account_id, t.asset_uuid, t.reasons, t.budget_spent_until
  ) ${tellReported("states", "$3::bigint")}`;

/**
 * CTEs for deployments that were stored.
 *
 * @param stored relation with the ids of those that were
 * @param effects parameter: JSON with `id`, `asset`, and what follows for it: `waits` (a difference), `outcome` (bits)
 * @param events parameter: JSON with `id`, `asset`, `account`, `event`, and `at` (Unix seconds) if it tells attention
 */
export const assetEffects = (stored: string, effects: string, events: string): string => /* sql */ `
  effects AS MATERIALIZED (
    SELECT e.asset AS asset_uuid, sum(e.waits)::int AS waits,
      (array_agg(e.outcome ORDER BY e."order" DESC) FILTER (WHERE e.outcome IS NOT NULL))[1] AS outcome
    FROM json_to_recordset(${effects}::json) AS e(id TEXT, asset TEXT, waits INTEGER, outcome INTEGER, "order" INTEGER)
    JOIN ${stored} s ON s.id = e.id GROUP BY e.asset
  ), ${lockedStates("effects")}, changed_states AS MATERIALIZED (
    SELECT l.asset_uuid, l.budget_spent_until, l.waiting + e.waits AS waiting,
      (CASE WHEN l.waiting + e.waits > 0 THEN l.reasons | ${WAITING_BIT} ELSE l.reasons & ~${WAITING_BIT} END)
        & ~(CASE WHEN e.outcome IS NULL THEN 0 ELSE ${OUTCOME_BITS} END) | coalesce(e.outcome, 0) AS reasons,
      e.waits <> 0 OR (l.reasons & ${OUTCOME_BITS}) <> coalesce(e.outcome, l.reasons & ${OUTCOME_BITS}) AS is_changed
    FROM effects e JOIN locked_states l ON l.asset_uuid = e.asset_uuid
  ), states AS (
    UPDATE asset_states t SET waiting = c.waiting, reasons = c.reasons
    FROM changed_states c WHERE t.asset_uuid = c.asset_uuid AND c.is_changed
  ), told AS (
    INSERT INTO account_events (account_id, event)
    SELECT n.account, CASE WHEN n.at IS NULL THEN n.event ELSE (n.event::jsonb || jsonb_build_object(
      'attention', coalesce(${bitsAt("c", "n.at")}, 0)))::text END
    FROM json_to_recordset(${events}::json)
      AS n(id TEXT, asset TEXT, account TEXT, event TEXT, at BIGINT, "order" INTEGER)
    JOIN ${stored} s ON s.id = n.id LEFT JOIN changed_states c ON c.asset_uuid = n.asset
    ORDER BY n."order"
  )`;
