import type { DatabaseSync } from "node:sqlite";
import { prepare } from "../../../lib/sqlite.ts";
import type { DisconnectReason } from "../../../protocol/assets/connectivity.ts";
import type { NewSession, OpenedSession, SessionFence, SessionStore, StoredSession } from "../sessions.ts";
import type { SqliteAssetStates } from "./asset-states.ts";
import type { CommitQueue } from "./commit-queue.ts";

interface BeforeOpening {
  readonly instanceId: string | null;
  readonly reportHash: string | null;
  readonly heldSince: number | null;
  readonly healthAt: number | null;
  readonly hasOpenDeployments: number;
}

interface SessionRow {
  readonly epoch: number;
  readonly instance_id: string | null;
  readonly protocol: number | null;
  readonly last_seen_at: number | null;
}

interface EndedRow {
  readonly assetUuid: string;
  readonly at: number | null;
}

/**
 * Sessions are not synced to disk by themselves, so that a fleet that reconnects does not cost a sync for each device. The
 * next synced transaction makes them durable: nothing on disk names an epoch that is not on disk.
 */
export class SqliteSessionStore implements SessionStore {
  readonly #commits: CommitQueue;
  readonly #states: SqliteAssetStates;
  readonly #find;
  readonly #beforeOpening;
  readonly #open;
  readonly #clearHeld;
  readonly #close;
  readonly #closeAll;
  readonly #closeAllOf;
  readonly #held;
  readonly #reopen;
  readonly #end;

  constructor(database: DatabaseSync, commits: CommitQueue, states: SqliteAssetStates) {
    this.#commits = commits;
    this.#states = states;
    this.#find = prepare(
      database,
      "SELECT epoch, instance_id, protocol, last_seen_at FROM device_sessions WHERE asset_uuid = ?",
    );
    // From the assets, so that nothing is stored for a removed asset.
    this.#beforeOpening = prepare(
      database,
      `SELECT s.instance_id AS instanceId, r.hash AS reportHash, r.held_since AS heldSince,
         (SELECT at FROM device_health WHERE asset_uuid = a.uuid) AS healthAt,
         EXISTS (SELECT 1 FROM deployments WHERE asset_uuid = a.uuid AND status = 'Running')
         OR EXISTS (SELECT 1 FROM deployments WHERE asset_uuid = a.uuid AND delivery IS NOT NULL)
         OR EXISTS (SELECT 1 FROM deployments
           WHERE asset_uuid = a.uuid AND uncertainty IN ('asked', 'overdue') AND status <> 'Running') AS hasOpenDeployments
       FROM assets a LEFT JOIN device_sessions s ON s.asset_uuid = a.uuid LEFT JOIN device_reports r ON r.asset_uuid = a.uuid
       WHERE a.uuid = ?`,
    );
    this.#clearHeld = prepare(database, "UPDATE device_reports SET held_since = NULL WHERE asset_uuid = ?");
    this.#open = prepare(
      database,
      `INSERT INTO device_sessions (asset_uuid, epoch, instance_id, session_id, protocol, last_seen_at)
       VALUES (?, 1, ?, ?, ?, ?)
       ON CONFLICT (asset_uuid) DO UPDATE SET epoch = epoch + 1, instance_id = excluded.instance_id,
         session_id = excluded.session_id, protocol = excluded.protocol, last_seen_at = excluded.last_seen_at
       RETURNING epoch`,
    );
    this.#close = prepare(
      database,
      `UPDATE device_sessions SET instance_id = NULL, session_id = NULL, last_seen_at = ?, end_reason = ?
       WHERE asset_uuid = ? AND epoch = ?`,
    );
    // One that was opened after the time at which they were open, as far as is known, was seen later.
    const end = `UPDATE device_sessions SET instance_id = NULL, session_id = NULL, end_reason = 'service',
      last_seen_at = CASE WHEN ?1 > coalesce(last_seen_at, 0) THEN ?1 ELSE last_seen_at END`;
    const ended = "RETURNING asset_uuid AS assetUuid, last_seen_at AS at";
    this.#closeAll = prepare(database, `${end} WHERE instance_id IS NOT NULL ${ended}`);
    this.#closeAllOf = prepare(database, `${end} WHERE instance_id = ?2 ${ended}`);
    this.#held = prepare(
      database,
      "SELECT asset_uuid AS assetUuid, epoch FROM device_sessions WHERE instance_id = ? ORDER BY asset_uuid LIMIT ?",
    );
    this.#reopen = prepare(
      database,
      `UPDATE device_sessions SET epoch = epoch + 1, instance_id = ? WHERE asset_uuid = ? AND epoch = ?
       RETURNING asset_uuid AS assetUuid, epoch`,
    );
    this.#end = prepare(database, `${end} WHERE asset_uuid = ?2 AND epoch = ?3 ${ended}`);
  }

  open(session: NewSession): Promise<OpenedSession | undefined> {
    return this.#commits.runUnsynced(() => this.#openOne(session));
  }

  async close({ assetUuid, epoch }: SessionFence, at: number, reason: DisconnectReason): Promise<void> {
    await this.#commits.runUnsynced(() => {
      if (this.#close.run(at, reason, assetUuid, epoch).changes > 0) this.#states.disconnected(assetUuid, at);
    });
  }

  async find(assetUuid: string): Promise<StoredSession | undefined> {
    const row = this.#find.get(assetUuid) as SessionRow | undefined;
    return (
      row && {
        epoch: row.epoch,
        instanceId: row.instance_id ?? undefined,
        protocol: row.protocol ?? undefined,
        lastSeenAt: row.last_seen_at ?? undefined,
      }
    );
  }

  async listHeld(instanceId: string, limit = Number.MAX_SAFE_INTEGER): Promise<readonly SessionFence[]> {
    return this.#held.all(instanceId, limit) as unknown as SessionFence[];
  }

  async reopen(instanceId: string, sessions: readonly SessionFence[]): Promise<readonly SessionFence[]> {
    return this.#commits.runUnsynced(() =>
      sessions.flatMap((session) => {
        const reopened = this.#reopen.all(instanceId, session.assetUuid, session.epoch) as unknown as SessionFence[];
        if (reopened.length > 0) this.#states.reopened(session, instanceId);
        return reopened;
      }),
    );
  }

  async end(sessions: readonly SessionFence[], at?: number): Promise<void> {
    await this.#commits.runUnsynced(() => {
      for (const { assetUuid, epoch } of sessions)
        this.#tellEnded(this.#end.all(at ?? null, assetUuid, epoch) as unknown as EndedRow[]);
    });
  }

  async closeAll(instanceId: string | undefined, at?: number): Promise<void> {
    await this.#commits.run(() => {
      const closed =
        instanceId === undefined ? this.#closeAll.all(at ?? null) : this.#closeAllOf.all(at ?? null, instanceId);
      this.#tellEnded(closed as unknown as EndedRow[]);
    });
  }

  #tellEnded(rows: readonly EndedRow[]): void {
    for (const { assetUuid, at } of rows) this.#states.disconnected(assetUuid, at ?? undefined);
  }

  #openOne(session: NewSession): OpenedSession | undefined {
    const { assetUuid, instanceId, sessionId, protocol, at } = session;
    const before = this.#beforeOpening.get(assetUuid) as BeforeOpening | undefined;
    if (!before) return undefined;
    const { epoch } = this.#open.get(assetUuid, instanceId, sessionId, protocol, at) as { epoch: number };
    // Writes nothing for the many devices that hold nothing back.
    if (before.heldSince !== null) this.#clearHeld.run(assetUuid);
    this.#states.connected(session);
    return {
      epoch,
      replacedInstanceId: before.instanceId ?? undefined,
      reportHash: before.reportHash ?? undefined,
      healthAt: before.healthAt ?? undefined,
      hasOpenDeployments: before.hasOpenDeployments === 1,
    };
  }
}
