import type { DisconnectReason } from "../../../protocol/assets/connectivity.ts";
import type { NewSession, OpenedSession, SessionFence, SessionStore, StoredSession } from "../sessions.ts";
import type { AppendSignal } from "../account-events.ts";
import { connectedStates, disconnectedStates, TOLD_ACCOUNTS } from "./asset-states.ts";
import { type PostgresPool, repeatOnConflict } from "./pool.ts";

/** Maximum number of sessions that are opened in one statement. */
const MAX_OPENED_AT_ONCE = 256;

// Rows are locked in order of the asset, here and by writes for a session, so that these never wait for each other in turn.
const OPEN = /* sql */ `
  WITH input AS (
    SELECT * FROM json_to_recordset($1::json)
      AS i("assetUuid" TEXT, "instanceId" TEXT, "sessionId" TEXT, protocol INTEGER, "agentVersion" TEXT, at BIGINT)
  ), before AS MATERIALIZED (
    SELECT s.asset_uuid, s.instance_id FROM device_sessions s
    WHERE s.asset_uuid IN (SELECT "assetUuid" FROM input) ORDER BY s.asset_uuid FOR NO KEY UPDATE
  ), opened AS (
    UPDATE device_sessions s SET epoch = s.epoch + 1, instance_id = i."instanceId", session_id = i."sessionId",
      protocol = i.protocol, last_seen_at = i.at
    FROM before b JOIN input i ON i."assetUuid" = b.asset_uuid
    WHERE s.asset_uuid = b.asset_uuid
    RETURNING s.asset_uuid, s.epoch, i."instanceId" AS instance_id, i.at, i."agentVersion" AS agent_version
  ), cleared AS (
    UPDATE device_reports r SET held_since = NULL FROM before b WHERE r.asset_uuid = b.asset_uuid AND r.held_since IS NOT NULL
  ), ${connectedStates("opened")}
  SELECT o.asset_uuid AS "assetUuid", o.epoch, b.instance_id AS "replacedInstanceId",
    (SELECT hash FROM device_reports WHERE asset_uuid = o.asset_uuid) AS "reportHash",
    (SELECT at FROM device_health WHERE asset_uuid = o.asset_uuid) AS "healthAt",
    EXISTS (SELECT 1 FROM deployments WHERE asset_uuid = o.asset_uuid AND status = 'Running')
    OR EXISTS (SELECT 1 FROM deployments WHERE asset_uuid = o.asset_uuid AND delivery IS NOT NULL)
    OR EXISTS (SELECT 1 FROM deployments
      WHERE asset_uuid = o.asset_uuid AND uncertainty IN ('asked', 'overdue') AND status <> 'Running') AS "hasOpenDeployments", ${TOLD_ACCOUNTS} AS told
  FROM opened o JOIN before b ON b.asset_uuid = o.asset_uuid`;
const CLOSE = /* sql */ `
  WITH closed AS (
    UPDATE device_sessions SET instance_id = NULL, session_id = NULL, last_seen_at = $3, end_reason = $4
    WHERE asset_uuid = $1 AND epoch = $2 RETURNING asset_uuid, last_seen_at AS at
  ), ${disconnectedStates("closed")}
  SELECT ${TOLD_ACCOUNTS} AS told`;
const FIND = /* sql */ `
  SELECT epoch, instance_id, protocol, last_seen_at FROM device_sessions WHERE asset_uuid = $1`;
const HELD = /* sql */ `
  SELECT asset_uuid AS "assetUuid", epoch FROM device_sessions WHERE instance_id = $1 ORDER BY asset_uuid LIMIT $2`;
const GIVEN = /* sql */ `json_to_recordset($1::json) AS i("assetUuid" TEXT, epoch BIGINT)`;
const LOCKED = /* sql */ `
  SELECT s.asset_uuid FROM device_sessions s JOIN ${GIVEN} ON i."assetUuid" = s.asset_uuid AND i.epoch = s.epoch
  ORDER BY s.asset_uuid FOR NO KEY UPDATE OF s`;
const REOPEN = /* sql */ `
  WITH locked AS MATERIALIZED (${LOCKED}), reopened AS (
    UPDATE device_sessions s SET epoch = s.epoch + 1, instance_id = $2 FROM locked l WHERE s.asset_uuid = l.asset_uuid
    RETURNING s.asset_uuid, s.epoch, s.instance_id, NULL::bigint AS at, NULL::text AS agent_version
  ), ${connectedStates("reopened")}
  SELECT asset_uuid AS "assetUuid", epoch, ${TOLD_ACCOUNTS} AS told FROM reopened`;
/** Ends sessions that were open at a time, as far as is known. One that was opened later was seen later. */
const ENDED = (at: string): string => /* sql */ `
    UPDATE device_sessions s SET instance_id = NULL, session_id = NULL, end_reason = 'service',
      last_seen_at = greatest(s.last_seen_at, ${at}::bigint)
    FROM locked l WHERE s.asset_uuid = l.asset_uuid
    RETURNING s.asset_uuid, s.last_seen_at AS at`;
const END = /* sql */ `
  WITH locked AS MATERIALIZED (${LOCKED}), ended AS (
    ${ENDED("$2")}
  ), ${disconnectedStates("ended")}
  SELECT ${TOLD_ACCOUNTS} AS told`;
const CLOSE_ALL_SQL = (condition: string): string => /* sql */ `
  WITH locked AS MATERIALIZED (
    SELECT asset_uuid FROM device_sessions WHERE ${condition} ORDER BY asset_uuid FOR NO KEY UPDATE
  ), ended AS (
    ${ENDED("$1")}
  ), ${disconnectedStates("ended")}
  SELECT ${TOLD_ACCOUNTS} AS told`;
const CLOSE_ALL = CLOSE_ALL_SQL("instance_id IS NOT NULL");
const CLOSE_ALL_OF = CLOSE_ALL_SQL("instance_id = $2");

interface WaitingSession {
  readonly session: NewSession;
  readonly resolve: (opened: OpenedSession | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface ToldRow {
  /** The accounts with new events. */
  readonly told: readonly string[] | null;
}

interface OpenedRow extends ToldRow {
  readonly assetUuid: string;
  readonly epoch: number;
  readonly replacedInstanceId: string | null;
  readonly reportHash: string | null;
  readonly healthAt: number | null;
  readonly hasOpenDeployments: boolean;
}

interface SessionRow {
  readonly epoch: number;
  readonly instance_id: string | null;
  readonly protocol: number | null;
  readonly last_seen_at: number | null;
}

/** Every asset has a row from its registration on. */
export class PostgresSessionStore implements SessionStore {
  readonly #pool: PostgresPool;
  readonly #appended: AppendSignal;
  /** Sessions that arrive while others are being opened are opened together. */
  #waiting: WaitingSession[] = [];
  #isOpening = false;

  constructor(pool: PostgresPool, appended: AppendSignal) {
    this.#pool = pool;
    this.#appended = appended;
  }

  open(session: NewSession): Promise<OpenedSession | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ session, resolve, reject });
      if (this.#isOpening) return;
      this.#isOpening = true;
      setImmediate(() => void this.#openWaiting());
    });
  }

  async close({ assetUuid, epoch }: SessionFence, at: number, reason: DisconnectReason): Promise<void> {
    await this.#write<ToldRow>(CLOSE, [assetUuid, epoch, at, reason]);
  }

  async find(assetUuid: string): Promise<StoredSession | undefined> {
    const { rows } = await this.#pool.query<SessionRow>(FIND, [assetUuid]);
    const [row] = rows;
    return (
      row && {
        epoch: row.epoch,
        instanceId: row.instance_id ?? undefined,
        protocol: row.protocol ?? undefined,
        lastSeenAt: row.last_seen_at ?? undefined,
      }
    );
  }

  async listHeld(instanceId: string, limit?: number): Promise<readonly SessionFence[]> {
    return (await this.#pool.query<SessionFence>(HELD, [instanceId, limit ?? null])).rows;
  }

  async reopen(instanceId: string, sessions: readonly SessionFence[]): Promise<readonly SessionFence[]> {
    const rows = await this.#write<SessionFence & ToldRow>(REOPEN, [JSON.stringify(sessions), instanceId]);
    return rows.map(({ assetUuid, epoch }) => ({ assetUuid, epoch }));
  }

  async end(sessions: readonly SessionFence[], at?: number): Promise<void> {
    await this.#write<ToldRow>(END, [JSON.stringify(sessions), at ?? null]);
  }

  async closeAll(instanceId: string | undefined, at?: number): Promise<void> {
    if (instanceId === undefined) await this.#write<ToldRow>(CLOSE_ALL, [at ?? null]);
    else await this.#write<ToldRow>(CLOSE_ALL_OF, [at ?? null, instanceId]);
  }

  async #write<Row extends ToldRow>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const { rows } = await repeatOnConflict(() => this.#pool.query<Row>(text, values));
    this.#appended.emit(rows[0]?.told ?? []);
    return rows;
  }

  /** Opens what waits, one statement after the other, each with at most one session of a device. */
  async #openWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = new Map<string, WaitingSession>();
      const later: WaitingSession[] = [];
      for (const waiting of this.#waiting) {
        const { assetUuid } = waiting.session;
        if (batch.size < MAX_OPENED_AT_ONCE && !batch.has(assetUuid)) batch.set(assetUuid, waiting);
        else later.push(waiting);
      }
      this.#waiting = later;
      await this.#openBatch(batch);
    }
    this.#isOpening = false;
  }

  async #openBatch(batch: ReadonlyMap<string, WaitingSession>): Promise<void> {
    try {
      const sessions = JSON.stringify([...batch.values()].map(({ session }) => session));
      const rows = await this.#write<OpenedRow>(OPEN, [sessions]);
      const opened = new Map(rows.map((row) => [row.assetUuid, row]));
      for (const [assetUuid, { resolve }] of batch) {
        const row = opened.get(assetUuid);
        resolve(row && openedOf(row));
      }
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    }
  }
}

function openedOf(row: OpenedRow): OpenedSession {
  return {
    epoch: row.epoch,
    replacedInstanceId: row.replacedInstanceId ?? undefined,
    reportHash: row.reportHash ?? undefined,
    healthAt: row.healthAt ?? undefined,
    hasOpenDeployments: row.hasOpenDeployments,
  };
}
