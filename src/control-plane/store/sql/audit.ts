import { OUTCOME_OK, storableDetails } from "../../core/people/audit-actions.ts";
import type { AuditCursor } from "../../core/cursor.ts";
import type { AuditEntry, AuditFilter, AuditStore, StoredAuditEntry } from "../audit.ts";
import { AUDIT_COLUMNS, AuditList } from "./audit-list.ts";
import type { Executor } from "./executor.ts";
import { markApplied } from "./idempotency.ts";
import { change, one, type Parameters, type Value, type Work } from "./statement.ts";

const PLACEHOLDERS = AUDIT_COLUMNS.map(() => "?").join(", ");
/** Its parameters are `auditValues`. */
export const INSERT_AUDIT = `INSERT INTO audit (${AUDIT_COLUMNS.join(", ")}) VALUES (${PLACEHOLDERS}) RETURNING id`;
const SET_DETAILS = "UPDATE audit SET details = ? WHERE id = ?";
const REMOVE_OLD = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)";

/** No stored text contains it, and PostgreSQL refuses it in a parameter. */
const NUL = "\0";

export class SqlAuditStore implements AuditStore {
  readonly #executor: Executor;
  readonly #list: AuditList;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#list = new AuditList(executor);
  }

  async addEntry(entry: AuditEntry): Promise<number> {
    return this.#executor.transact(() => recordAudit(entry));
  }

  async setCount(id: number, { action, details }: AuditEntry, count: number): Promise<void> {
    await this.#executor.change(SET_DETAILS, [JSON.stringify(storableDetails(action, { ...details, count })), id]);
  }

  async listEntries(
    accountId: string,
    limit: number,
    filter: AuditFilter = {},
    after?: AuditCursor,
  ): Promise<readonly StoredAuditEntry[]> {
    if (filter.actions?.length === 0) return [];
    if ([filter.actorId, filter.assetUuid, filter.outcome].some((text) => text?.includes(NUL))) return [];
    return this.#list.page(accountId, limit, filter, after);
  }

  async removeOld(before: number, limit: number): Promise<number> {
    return this.#executor.change(REMOVE_OLD, [before, limit]);
  }
}

/** Adds an entry, in the transaction of the change that it is about. Returns its id. */
export function* recordAudit(entry: AuditEntry): Work<number> {
  const row = yield* one<{ readonly id: number }>(INSERT_AUDIT, auditValues(entry));
  if (!row) throw new Error("an entry of the audit log was not stored");
  const { accountId, idempotencyKeyHash: keyHash, outcome } = entry;
  if (keyHash && outcome === OUTCOME_OK) yield* markApplied({ accountId, keyHash });
  return row.id;
}

/** Runs one statement, and if it changed something adds the entry in the same transaction. Returns how many rows changed. */
export async function changeWithAudit(
  executor: Executor,
  sql: string,
  parameters: Parameters,
  audit: AuditEntry | undefined,
): Promise<number> {
  if (!audit) return executor.change(sql, parameters);
  return executor.transact(function* (): Work<number> {
    const changed = yield* change(sql, parameters);
    if (changed > 0) yield* recordAudit(audit);
    return changed;
  });
}

/** The values of `AUDIT_COLUMNS`. */
export function auditValues(entry: AuditEntry): readonly Value[] {
  const { accountId, at, actor, source, action, assetUuid, app, outcome, subject } = entry;
  const details = JSON.stringify(storableDetails(action, entry.details));
  const who = [actor.kind, storableText(actor.id), actor.name === undefined ? null : storableText(actor.name)];
  const name = subject?.name === undefined ? null : storableText(subject.name);
  const about = [subject?.kind ?? null, subject ? storableText(subject.id) : null, name];
  return [accountId, at, ...who, source ?? null, action, assetUuid, storableText(app), outcome, details, ...about];
}

/** PostgreSQL stores neither NUL nor half a character. */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll(NUL, "\uFFFD");
}
