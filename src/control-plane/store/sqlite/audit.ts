import type { DatabaseSync } from "node:sqlite";
import type { AuditEntry, AuditStore } from "../audit.ts";

const KEPT_S = 400 * 24 * 3600;

interface Row {
  readonly account_id: string;
  readonly at: number;
  readonly actor_id: string;
  readonly source: string | null;
  readonly action: string;
  readonly asset_uuid: string;
  readonly app: string;
  readonly outcome: string;
  readonly details: string;
}

export class SqliteAuditStore implements AuditStore {
  readonly #insert;
  readonly #prune;
  readonly #list;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      `INSERT INTO audit (account_id, at, actor_kind, actor_id, source, action, asset_uuid, app, outcome, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#prune = database.prepare("DELETE FROM audit WHERE at < ?");
    this.#list = database.prepare("SELECT * FROM audit WHERE account_id = ? ORDER BY at DESC, id DESC LIMIT ?");
  }

  async addEntry(entry: AuditEntry): Promise<void> {
    const { accountId, at, actor, source, action, assetUuid, app, outcome, details } = entry;
    const text = JSON.stringify(details);
    this.#insert.run(accountId, at, actor.kind, actor.id, source ?? null, action, assetUuid, app, outcome, text);
    this.#prune.run(at - KEPT_S);
  }

  async listEntries(accountId: string, limit: number): Promise<readonly AuditEntry[]> {
    return (this.#list.all(accountId, limit) as unknown as Row[]).map((row) => ({
      accountId: row.account_id,
      at: row.at,
      actor: { kind: "key", id: row.actor_id },
      source: row.source ?? undefined,
      action: row.action,
      assetUuid: row.asset_uuid,
      app: row.app,
      outcome: row.outcome,
      details: JSON.parse(row.details) as Record<string, unknown>,
    }));
  }
}
