import type { AuditEntry, AuditStore } from "../audit.ts";
import type { Executor } from "./executor.ts";
import { change, type Work } from "./statement.ts";

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

const INSERT = /* sql */ `
  INSERT INTO audit (account_id, at, actor_kind, actor_id, source, action, asset_uuid, app, outcome, details)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const PRUNE = "DELETE FROM audit WHERE at < ?";
const LIST = /* sql */ `
  SELECT account_id, at, actor_id, source, action, asset_uuid, app, outcome, details FROM audit
  WHERE account_id = ? ORDER BY at DESC, id DESC LIMIT ?`;

export class SqlAuditStore implements AuditStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async addEntry(entry: AuditEntry): Promise<void> {
    await this.#executor.transact(() => add(entry));
  }

  async listEntries(accountId: string, limit: number): Promise<readonly AuditEntry[]> {
    return (await this.#executor.all<Row>(LIST, [accountId, limit])).map(toEntry);
  }
}

function* add({ accountId, at, actor, source, action, assetUuid, app, outcome, details }: AuditEntry): Work<void> {
  const text = JSON.stringify(details);
  const values = [accountId, at, actor.kind, actor.id, source ?? null, action, assetUuid, app, outcome, text];
  yield* change(INSERT, values);
  yield* change(PRUNE, [at - KEPT_S]);
}

function toEntry(row: Row): AuditEntry {
  return {
    accountId: row.account_id,
    at: row.at,
    actor: { kind: "key", id: row.actor_id },
    source: row.source ?? undefined,
    action: row.action,
    assetUuid: row.asset_uuid,
    app: row.app,
    outcome: row.outcome,
    details: JSON.parse(row.details) as Record<string, unknown>,
  };
}
