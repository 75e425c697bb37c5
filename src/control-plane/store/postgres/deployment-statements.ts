import { DEPLOYMENT_COLUMNS, DEPLOYMENT_JOINS, SUMMARY_COLUMNS, UNDELIVERED_COLUMNS } from "../deployment-row.ts";
import { MAX_BATCH_BYTES, MAX_PAGE_BYTES } from "../deployments.ts";
import { assetEffects } from "./asset-states.ts";
import { AUDIT_COLUMNS } from "../sql/audit-list.ts";
import { KEPT_BACK } from "../sql/device-acceptance.ts";
import { AUDIT_ROW_TYPE } from "./audit-row.ts";
import { CHANGED_COLUMNS, CREATED_COLUMNS } from "../deployment-columns.ts";

const ACCOUNT_BYTES = /* sql */ `
  (SELECT sum(b.stored_bytes)::bigint FROM account_bytes b WHERE b.account_id = d.account_id) AS account_bytes`;

const COLUMNS = `${DEPLOYMENT_COLUMNS}, ${ACCOUNT_BYTES}`;
const SELECT = `SELECT ${COLUMNS} FROM deployments d ${DEPLOYMENT_JOINS}`;
const SELECT_SUMMARY = `SELECT ${SUMMARY_COLUMNS} FROM deployments d`;

export const FIND_ALL = `${SELECT} WHERE d.id = ANY ($1)`;
export const FIND_HOLDERS =
  "SELECT asset_uuid AS asset, instance_id AS holder FROM device_sessions WHERE asset_uuid = ANY ($1)";
export const FIND_LAST_SEQS = 'SELECT id, last_seq AS "lastSeq" FROM deployments WHERE id = ANY ($1)';
export const FIND_SUMMARY = `${SELECT_SUMMARY} WHERE d.id = $1`;
export const LIST_UNFINISHED = `${SELECT} WHERE d.status = 'Running' ORDER BY d.created_at_ms, d.stored_seq`;
export const LIST_UNFINISHED_OF_ASSET = /* sql */ `
  ${SELECT} WHERE d.asset_uuid = $1 AND d.status = 'Running' ORDER BY d.created_at_ms, d.stored_seq`;
export const LIST_UNFINISHED_SUMMARIES = /* sql */ `
  ${SELECT_SUMMARY} WHERE d.asset_uuid = $1 AND d.status = 'Running' ORDER BY d.created_at_ms, d.stored_seq`;
export const LIST_ENDED_UNCERTAIN = /* sql */ `
  ${SELECT} WHERE d.asset_uuid = $1 AND d.uncertainty IN ('asked', 'overdue') AND d.status <> 'Running'
  ORDER BY d.created_at_ms, d.id LIMIT $2`;

/** Reads the specifications only of the deployments that belong to the page. `found` counts what is left. */
export const LIST_PAGE = /* sql */ `
  WITH page AS MATERIALIZED (
    SELECT id, created_at_ms, octet_length(spec) AS bytes FROM deployments
    WHERE asset_uuid = $1 AND (created_at_ms, id) < ($2, $3)
    ORDER BY created_at_ms DESC, id DESC LIMIT $4
  ), bounded AS (
    SELECT id, count(*) OVER () AS found,
      sum(bytes) OVER (ORDER BY created_at_ms DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM page
  )
  SELECT ${COLUMNS}, b.found FROM bounded b JOIN deployments d ON d.id = b.id ${DEPLOYMENT_JOINS}
  WHERE coalesce(b.bytes_before, 0) < ${MAX_PAGE_BYTES}
  ORDER BY d.created_at_ms DESC, d.id DESC`;

/** Rows for each input have its `number`, from 1; there is one without a deployment if there is none. */
export const LIST_UNDELIVERED = /* sql */ `
  SELECT i.number, i.epoch IS NULL OR EXISTS (
    SELECT 1 FROM device_sessions s WHERE s.asset_uuid = i.asset AND s.epoch = i.epoch) AS "isValid", u.*
  FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS i(asset, epoch, number)
  LEFT JOIN LATERAL (
    SELECT ${UNDELIVERED_COLUMNS}, d.stored_seq FROM deployments d
    WHERE d.asset_uuid = i.asset AND d.delivery IS NOT NULL AND NOT ${KEPT_BACK} ORDER BY d.stored_seq LIMIT $3
  ) u ON true ORDER BY i.number, u.stored_seq`;
export const LIST_UNDELIVERED_ASSETS = /* sql */ `
  SELECT DISTINCT d.asset_uuid FROM deployments d JOIN device_sessions s ON s.asset_uuid = d.asset_uuid
  WHERE d.delivery IS NOT NULL AND NOT ${KEPT_BACK} AND s.instance_id = $1 AND d.asset_uuid > $2
  ORDER BY d.asset_uuid LIMIT $3`;

export const LIST_DUE = `${SELECT} WHERE d.due_at_ms <= $1 ORDER BY d.due_at_ms LIMIT $2`;
export const NEXT_DUE = "SELECT min(due_at_ms) AS due FROM deployments WHERE due_at_ms IS NOT NULL";

/** Rows for each input have its `number`, from 1; there is one without an event if the deployment has none. */
export const READ_EVENTS = /* sql */ `
  SELECT i.number, d.status, e.seq, e.event AS json, coalesce(e.found, 0) AS found
  FROM unnest($1::text[], $2::bigint[], $3::int[]) WITH ORDINALITY AS i(id, after, "limit", number)
  JOIN deployments d ON d.id = i.id
  LEFT JOIN LATERAL (
    SELECT seq, event, row_number() OVER w AS position, sum(octet_length(event)) OVER w AS bytes,
      count(*) OVER () AS found
    FROM (
      SELECT seq, event FROM deployment_events WHERE deployment_id = i.id AND seq > i.after ORDER BY seq LIMIT i."limit"
    ) first_events WINDOW w AS (ORDER BY seq)
  ) e ON e.position = 1 OR e.bytes <= ${MAX_BATCH_BYTES}
  ORDER BY i.number, e.seq`;

export const REMOVE_FINISHED = /* sql */ `
  WITH old AS MATERIALIZED (
    SELECT id FROM deployments WHERE finished_at_ms < $1 ORDER BY finished_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED
  )
  DELETE FROM deployments d USING old WHERE d.id = old.id`;

export const IS_CURRENT_SESSION = "SELECT 1 FROM device_sessions WHERE asset_uuid = $1 AND epoch = $2";

/**
 * Stores changes of several deployments, with their events, in one statement: each if its record has the version that the
 * change is based on, and its session is still the one of the device. Returns the ids of those that were stored.
 */
const WRITE = /* sql */ `
  WITH input AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1::json) AS i(
      id TEXT, "versionBefore" BIGINT, "fenceAsset" TEXT, "fenceEpoch" BIGINT, spec TEXT,
      ${CHANGED_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(", ")})
  ), fences AS MATERIALIZED (
    SELECT s.asset_uuid FROM device_sessions s JOIN input i ON i."fenceAsset" = s.asset_uuid AND i."fenceEpoch" = s.epoch
    ORDER BY s.asset_uuid FOR SHARE OF s
  ), updated AS (
    UPDATE deployments d SET spec = coalesce(i.spec, d.spec),
      ${CHANGED_COLUMNS.map(({ name }) => `${name} = i.${name}`).join(", ")}
    FROM input i
    WHERE d.id = i.id AND d.version = i."versionBefore"
      AND (i."fenceAsset" IS NULL OR i."fenceAsset" IN (SELECT asset_uuid FROM fences))
    RETURNING d.id
  ), stored AS (
    INSERT INTO deployment_events (deployment_id, seq, event)
    SELECT e.id, e.seq, e.event FROM json_to_recordset($2::json) AS e(id TEXT, seq INTEGER, event TEXT)
    JOIN updated u ON u.id = e.id
  ), audited AS (
    INSERT INTO audit (${AUDIT_COLUMNS.join(", ")})
    SELECT ${AUDIT_COLUMNS.map((name) => `a.${name}`).join(", ")}
    FROM json_to_recordset($3::json) AS a(deployment_id TEXT, ${AUDIT_ROW_TYPE}) JOIN updated u ON u.id = a.deployment_id
  )`;
export const WRITE_CHANGES = `${WRITE} SELECT id FROM updated`;
/** The same with what follows for assets and accounts: see `Effects`. */
export const WRITE_CHANGES_WITH_EFFECTS = `${WRITE}, ${assetEffects("updated", "$4", "$5")} SELECT id FROM updated`;

/** A new deployment waits here for others of the same asset, and for its device to connect. */
export const LOCK_DEVICE = "SELECT instance_id AS holder FROM device_sessions WHERE asset_uuid = $1 FOR NO KEY UPDATE";
/** What a new deployment depends on. Needs a statement of its own, to see what was stored before the lock was there. */
export const CREATION_FACTS = /* sql */ `
  SELECT (SELECT coalesce(sum(stored_bytes), 0)::bigint FROM account_bytes WHERE account_id = $1) AS "usedBytes",
    (SELECT count(*) FROM deployments WHERE asset_uuid = $2 AND status = 'Running') AS running,
    r.id AS "repeatedId", r.request_hash AS "requestHash", r.code AS "repeatedCode"
  FROM (SELECT 1) one
  LEFT JOIN deployments r ON r.account_id = $1 AND r.idempotency_key = $3 AND $3 IS NOT NULL`;
/** Another deployment takes over the key of one that has failed. */
export const RELEASE_KEY = "UPDATE deployments SET idempotency_key = NULL, request_hash = NULL WHERE id = $1";
/** Held until the end of the transaction by those who create deployments of an account that is nearly full. */
export const LOCK_ACCOUNT = "SELECT pg_advisory_xact_lock(hashtextextended($1, 7310579612))";

/** Stores a deployment with its events and the entry of the audit log. Returns no row if another one has its idempotency key. */
export const CREATE = /* sql */ `
  WITH created AS (
    INSERT INTO deployments (${CREATED_COLUMNS.join(", ")})
    VALUES (${CREATED_COLUMNS.map((_, index) => `$${index + 5}`).join(", ")})
    ON CONFLICT (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id
  ), stored AS (
    INSERT INTO deployment_events (deployment_id, seq, event)
    SELECT c.id, e.seq, e.event FROM created c, json_to_recordset($1::json) AS e(seq INTEGER, event TEXT)
  ), audited AS (
    INSERT INTO audit (${AUDIT_COLUMNS.join(", ")})
    SELECT ${AUDIT_COLUMNS.map((name) => `a.${name}`).join(", ")}
    FROM created, json_to_recordset($2::json) AS a(${AUDIT_ROW_TYPE})
  ), ${assetEffects("created", "$3", "$4")}
  SELECT id FROM created`;
