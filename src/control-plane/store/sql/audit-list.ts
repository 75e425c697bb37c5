import type { AuditCursor } from "../../core/cursor.ts";
import type { AuditEntry, AuditFilter, StoredAuditEntry } from "../audit.ts";
import type { Executor } from "./executor.ts";
import type { Value } from "./statement.ts";

interface Row {
  readonly id: number;
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

export const AUDIT_COLUMNS = [
  "account_id",
  "at",
  "actor_kind",
  "actor_id",
  "actor_name",
  "source",
  "action",
  "asset_uuid",
  "app",
  "outcome",
  "details",
  "subject_kind",
  "subject_id",
  "subject_name",
] as const;

/** Before every entry of a list, newest first: later than any time that can be written. */
const FIRST_PAGE_CURSOR: AuditCursor = { at: 999_999_999_999, id: 0 };

/** Which criteria a list has, and how many actions. The statements that there can be are few. */
interface Shape {
  readonly actor: boolean;
  readonly asset: boolean;
  readonly since: boolean;
  readonly outcome: "any" | "ok" | "failed" | "code";
  readonly actions: number;
}

/**
 * Returns the statement for one page. Each action is a range of an index of its own, of which the newest entries are taken.
 * Parameters: the account, the cursor, the limit, then those of the criteria in the order of `Shape`, and the actions.
 */
function auditListSql(shape: Shape): string {
  let parameters = 4;
  const next = (): string => `?${++parameters}`;
  const conditions = ["account_id = ?1", "(at, id) < (?2, ?3)"];
  if (shape.actor) conditions.push(`actor_id = ${next()}`);
  if (shape.asset) conditions.push(`asset_uuid = ${next()}`);
  if (shape.since) conditions.push(`at >= ${next()}`);
  if (shape.outcome === "ok") conditions.push("outcome = 'ok'");
  // As the index `audit_of_failures` is written, so that it is used.
  if (shape.outcome === "failed" || shape.outcome === "code") conditions.push("outcome <> 'ok'");
  if (shape.outcome === "code") conditions.push(`outcome = ${next()}`);
  const page = (more: readonly string[]): string => /* sql */ `
    SELECT id, ${AUDIT_COLUMNS.join(", ")} FROM audit WHERE ${[...conditions, ...more].join(" AND ")}
    ORDER BY at DESC, id DESC LIMIT ?4`;
  if (shape.actions <= 1) return page(shape.actions === 1 ? [`action = ${next()}`] : []);
  const pages = Array.from(
    { length: shape.actions },
    () => `SELECT * FROM (${page([`action = ${next()}`])}) one_action`,
  );
  return `SELECT * FROM (${pages.join(" UNION ALL ")}) actions ORDER BY at DESC, id DESC LIMIT ?4`;
}

/** The lists of entries, with a statement for each shape. */
export class AuditList {
  readonly #executor: Executor;
  readonly #statements = new Map<string, string>();

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async page(
    accountId: string,
    limit: number,
    filter: AuditFilter,
    after = FIRST_PAGE_CURSOR,
  ): Promise<readonly StoredAuditEntry[]> {
    const { actorId, assetUuid, since, until, outcome, actions = [] } = filter;
    const shape: Shape = {
      actor: actorId !== undefined,
      asset: assetUuid !== undefined,
      since: since !== undefined,
      outcome: outcome === undefined ? "any" : outcome === "ok" || outcome === "failed" ? outcome : "code",
      actions: actions.length,
    };
    // The range begins there, so that nothing later is read.
    const from = until === undefined || until > after.at ? after : { at: until, id: 0 };
    const given = [actorId, assetUuid, since, shape.outcome === "code" ? outcome : undefined, ...actions];
    const criteria = given.filter((value) => value !== undefined);
    const values: Value[] = [accountId, from.at, from.id, limit, ...criteria];
    return (await this.#executor.all<Row>(this.#statement(shape), values)).map(toEntry);
  }

  /** Kept, so that the executor finds the prepared one quickly. */
  #statement(shape: Shape): string {
    const name = JSON.stringify(shape);
    const sql = this.#statements.get(name) ?? auditListSql(shape);
    this.#statements.set(name, sql);
    return sql;
  }
}

function toEntry(row: Row): StoredAuditEntry {
  return {
    id: row.id,
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
