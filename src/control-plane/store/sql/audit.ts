import type { AuditEntry, AuditStore } from "../audit.ts";
import type { Executor } from "./executor.ts";
import { change, type Work } from "./statement.ts";

const KEPT_S = 400 * 24 * 3600;

interface Row {
  readonly account_id: string;
  readonly at: number;
  readonly actor_kind: AuditEntry["actor"]["kind"];
  readonly actor_id: string;
  readonly actor_name: string | null;
  readonly source: string | null;
  readonly action: string;
  readonly asset_uuid: string;
  readonly app: string;
  readonly outcome: string;
  readonly details: string;
  readonly subject_kind: string | null;
  readonly subject_id: string | null;
  readonly subject_name: string | null;
}

const COLUMNS = /* sql */ `account_id, at, actor_kind, actor_id, actor_name, source, action, asset_uuid, app, outcome, details,
  subject_kind, subject_id, subject_name`;
const INSERT = `INSERT INTO audit (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const PRUNE = "DELETE FROM audit WHERE at < ?";
const LIST = /* sql */ `
  SELECT ${COLUMNS} FROM audit
  WHERE account_id = ? ORDER BY at DESC, id DESC LIMIT ?`;

export class SqlAuditStore implements AuditStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async addEntry(entry: AuditEntry): Promise<void> {
    await this.#executor.transact(() => recordAudit(entry));
  }

  async listEntries(accountId: string, limit: number): Promise<readonly AuditEntry[]> {
    return (await this.#executor.all<Row>(LIST, [accountId, limit])).map(toEntry);
  }
}

/** Adds an entry, in the transaction of the change that it is about. */
export function* recordAudit(entry: AuditEntry): Work<void> {
  const { accountId, at, actor, source, action, assetUuid, app, outcome, details, subject } = entry;
  const who = [actor.kind, actor.id, actor.name ?? null, source ?? null];
  const about = [subject?.kind ?? null, subject?.id ?? null, subject?.name ?? null];
  const values = [accountId, at, ...who, action, assetUuid, app, outcome, JSON.stringify(details), ...about];
  yield* change(INSERT, values);
  yield* change(PRUNE, [at - KEPT_S]);
}

function toEntry(row: Row): AuditEntry {
  return {
    accountId: row.account_id,
    at: row.at,
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name ?? undefined },
    source: row.source ?? undefined,
    action: row.action,
    assetUuid: row.asset_uuid,
    app: row.app,
    outcome: row.outcome,
    details: JSON.parse(row.details) as Record<string, unknown>,
    subject:
      row.subject_kind === null || row.subject_id === null
        ? undefined
        : { kind: row.subject_kind, id: row.subject_id, name: row.subject_name ?? undefined },
  };
}
