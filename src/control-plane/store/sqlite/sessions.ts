import type { DatabaseSync } from "node:sqlite";
import type { NewSession, OpenedSession, SessionFence, SessionStore, StoredSession } from "../sessions.ts";
import type { SqliteAssetStates } from "./asset-states.ts";
import type { CommitQueue } from "./commit-queue.ts";

interface SessionRow {
  readonly epoch: number;
  readonly instance_id: string | null;
  readonly protocol: number | null;
  readonly last_seen_at: number | null;
}

/**
 * Sessions are not synced to disk by themselves, so that a fleet that reconnects does not cost a sync for each device. The
 * next synced transaction makes them durable: nothing on disk names an epoch that is not on disk.
 */
export class SqliteSessionStore implements SessionStore {
  readonly #commits: CommitQueue;
  readonly #states: SqliteAssetStates;
  readonly #find;
  readonly #open;
  readonly #close;
  readonly #closeAll;
  readonly #closeAllOf;
  readonly #held;
  readonly #reopen;
  readonly #end;

  constructor(database: DatabaseSync, commits: CommitQueue, states: SqliteAssetStates) {
    this.#commits = commits;
    this.#states = states;
    this.#find = database.prepare(
      "SELECT epoch, instance_id, protocol, last_seen_at FROM device_sessions WHERE asset_uuid = ?",
    );
    // Selects from the assets, so that nothing is stored for a removed asset.
    this.#open = database.prepare(
      `INSERT INTO device_sessions (asset_uuid, epoch, instance_id, session_id, protocol, last_seen_at)
       SELECT uuid, 1, ?, ?, ?, ? FROM assets WHERE uuid = ?
       ON CONFLICT (asset_uuid) DO UPDATE SET epoch = epoch + 1, instance_id = excluded.instance_id,
         session_id = excluded.session_id, protocol = excluded.protocol, last_seen_at = excluded.last_seen_at
       RETURNING epoch`,
    );
    this.#close = database.prepare(
      `UPDATE device_sessions SET instance_id = NULL, session_id = NULL, last_seen_at = ?
       WHERE asset_uuid = ? AND epoch = ?`,
    );
    const closeAll = "UPDATE device_sessions SET instance_id = NULL, session_id = NULL WHERE instance_id";
    this.#closeAll = database.prepare(`${closeAll} IS NOT NULL RETURNING asset_uuid`);
    this.#closeAllOf = database.prepare(`${closeAll} = ? RETURNING asset_uuid`);
    this.#held = database.prepare(
      "SELECT asset_uuid AS assetUuid, epoch FROM device_sessions WHERE instance_id = ? ORDER BY asset_uuid LIMIT ?",
    );
    this.#reopen = database.prepare(
      `UPDATE device_sessions SET epoch = epoch + 1, instance_id = ? WHERE asset_uuid = ? AND epoch = ?
       RETURNING asset_uuid AS assetUuid, epoch`,
    );
    this.#end = database.prepare(
      "UPDATE device_sessions SET instance_id = NULL, session_id = NULL WHERE asset_uuid = ? AND epoch = ?",
    );
  }

  open(session: NewSession): Promise<OpenedSession | undefined> {
    return this.#commits.runUnsynced(() => this.#openOne(session));
  }

  async close({ assetUuid, epoch }: SessionFence, at: number): Promise<void> {
    await this.#commits.runUnsynced(() => {
      if (this.#close.run(at, assetUuid, epoch).changes > 0) this.#states.disconnected(assetUuid, at);
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

  async end(sessions: readonly SessionFence[]): Promise<void> {
    await this.#commits.runUnsynced(() => {
      for (const { assetUuid, epoch } of sessions)
        if (this.#end.run(assetUuid, epoch).changes > 0) this.#states.disconnected(assetUuid);
    });
  }

  async closeAll(instanceId: string | undefined): Promise<void> {
    await this.#commits.run(() => {
      const closed = instanceId === undefined ? this.#closeAll.all() : this.#closeAllOf.all(instanceId);
      for (const { asset_uuid: assetUuid } of closed as { asset_uuid: string }[]) this.#states.disconnected(assetUuid);
    });
  }

  #openOne(session: NewSession): OpenedSession | undefined {
    const { assetUuid, instanceId, sessionId, protocol, at } = session;
    const before = this.#find.get(assetUuid) as SessionRow | undefined;
    const row = this.#open.get(instanceId, sessionId, protocol, at, assetUuid) as { epoch: number } | undefined;
    if (row) this.#states.connected(session);
    return row && { epoch: row.epoch, replacedInstanceId: before?.instance_id ?? undefined };
  }
}
