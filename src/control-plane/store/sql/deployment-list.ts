import type { DeploymentListCursor, DeploymentOrder } from "../../core/cursor.ts";
import {
  type AccountDeploymentPage,
  type DeploymentFilter,
  type DeploymentListStore,
  MAX_SCANNED,
} from "../deployment-lists.ts";
import { DEPLOYMENT_COLUMNS, DEPLOYMENT_JOINS, type DeploymentRow, toDeployment } from "../deployment-row.ts";
import { MAX_PAGE_BYTES } from "../deployments.ts";
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { matchesSql, tagIsSql, tagTermsOf } from "./selector-sql.ts";
import type { Value } from "./statement.ts";

const NUL = "\0";

/** How an order is read from an index: its time, and what comes next. */
const ORDERS: Readonly<
  Record<DeploymentOrder, { time: string; direction: "ASC" | "DESC"; start: DeploymentListCursor }>
> = {
  created: {
    time: "d.created_at_ms",
    direction: "DESC",
    start: { atMs: Number.MAX_SAFE_INTEGER, id: "" },
  },
  changed: { time: "coalesce(d.finished_at_ms, d.created_at_ms)", direction: "ASC", start: { atMs: -1, id: "" } },
};

/** A condition with its parameters, as `?`. */
interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

interface Position {
  readonly at_ms: number;
  readonly id: string;
}

interface Found extends Position {
  /** Of the specification. */
  readonly bytes: number;
}

/** The first deployments that are looked at are so many times those that the page may have; each further time as many times more. */
const FIRST_WINDOW = 4;

/**
 * The deployments of an account by indexes in the order of the list: `deployments_by_account`, `deployments_by_app`,
 * `deployments_not_succeeded` or `deployments_by_change`. What an index does not have is looked up for each deployment, of at
 * most `MAX_SCANNED`.
 */
export class SqlDeploymentListStore implements DeploymentListStore {
  readonly #executor: Executor;
  readonly #maxScanned: number;

  constructor(executor: Executor, maxScanned: number = MAX_SCANNED) {
    this.#executor = executor;
    this.#maxScanned = maxScanned;
  }

  async listOfAccount(
    accountId: string,
    order: DeploymentOrder,
    filter: DeploymentFilter,
    limit: number,
    after?: DeploymentListCursor,
  ): Promise<AccountDeploymentPage> {
    // PostgreSQL has no text with it.
    if (filter.app?.includes(NUL)) return { deployments: [], next: undefined };
    const { indexed, others } = conditionsOf(accountId, order, filter, this.#executor.dialect);
    const found: Found[] = [];
    let from = after ?? startOf(order, filter);
    let end: Position | undefined;
    // Where nearly all match, a few more than the page holds are looked at; where few do, ever more, up to the limit.
    for (let scanned = 0, window = limit * FIRST_WINDOW; ; window *= FIRST_WINDOW) {
      const range = [...indexed, afterPosition(order, from)];
      const count = Math.min(window, this.#maxScanned - scanned);
      end = others.length > 0 ? await this.#positionAt(order, range, count - 1) : undefined;
      const conditions = [...range, ...(end ? [upToPosition(order, end)] : []), ...others];
      const { sql, values } = pageSql(order, conditions, limit + 1 - found.length);
      found.push(...(await this.#executor.all<Found>(sql, values)));
      scanned += count;
      if (!end || found.length > limit || scanned >= this.#maxScanned) break;
      from = toCursor(end);
    }
    const page = fitting(found, limit);
    const last = page.at(-1);
    const next = page.length < found.length && last ? toCursor(last) : end && toCursor(end);
    return { deployments: await this.#read(page), next };
  }

  /** Returns the position of the deployment that comes after so many others of an index. */
  async #positionAt(order: DeploymentOrder, from: readonly Condition[], offset: number): Promise<Position | undefined> {
    const { sql, values } = positionSql(order, from, offset);
    return this.#executor.one<Position>(sql, values);
  }

  /** Reads the records in the order of their positions. */
  async #read(positions: readonly Position[]) {
    if (positions.length === 0) return [];
    const sql = recordsSql(this.#executor.dialect);
    const rows = await this.#executor.all<DeploymentRow>(sql, [JSON.stringify(positions.map(({ id }) => id))]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return positions.flatMap(({ id }) => {
      const row = byId.get(id);
      return row ? [toDeployment(row)] : [];
    });
  }
}

function toCursor({ at_ms: atMs, id }: Position): DeploymentListCursor {
  return { atMs, id };
}

/** The conditions that an index of the order answers, and the others. */
export function conditionsOf(
  accountId: string,
  order: DeploymentOrder,
  { app, status, selector, sinceMs }: DeploymentFilter,
  dialect: Dialect,
): { readonly indexed: readonly Condition[]; readonly others: readonly Condition[] } {
  const ofAccount: Condition = { sql: "d.account_id = ?", values: [accountId] };
  // By changes, the list begins then.
  const since =
    sinceMs === undefined || order === "changed" ? [] : [{ sql: "d.created_at_ms >= ?", values: [sinceMs] }];
  // Literals, and the words of the partial index, by which SQLite knows it.
  const words = status === "Success" ? "" : " AND d.status <> 'Success'";
  const ofStatus = status === undefined ? [] : [{ sql: `d.status = '${status}'${words}`, values: [] }];
  const ofApp = app === undefined ? [] : [{ sql: "d.app = ?", values: [app] }];
  // As expressions, so that no other index is used, which would not be limited to the deployments that are looked at.
  const alsoOfStatus = status === undefined ? [] : [{ sql: "coalesce(d.status, '') = ?", values: [status] }];
  const alsoOfApp = app === undefined ? [] : [{ sql: "coalesce(d.app, '') = ?", values: [app] }];
  const ofAssets = selector === undefined ? [] : ofMatching(selector, dialect);
  const first = [ofAccount, ...since];
  if (order === "changed") return { indexed: first, others: [...alsoOfApp, ...alsoOfStatus, ...ofAssets] };
  if (app !== undefined) return { indexed: [...first, ...ofApp], others: [...alsoOfStatus, ...ofAssets] };
  const isFew = status !== undefined && status !== "Success";
  return isFew
    ? { indexed: [...first, ...ofStatus], others: ofAssets }
    : { indexed: first, others: [...alsoOfStatus, ...ofAssets] };
}

function ofMatching(selector: readonly SelectorTerm[], dialect: Dialect): readonly Condition[] {
  const [tag] = tagTermsOf(selector);
  const hasTag = tag && {
    sql: tagIsSql(dialect, "d.asset_uuid", "?", "?"),
    values: [tag.key, JSON.stringify(tag.values)],
  };
  const matches = {
    sql: `EXISTS (SELECT 1 FROM assets a WHERE a.uuid = d.asset_uuid AND ${matchesSql(dialect, "?")})`,
    values: [JSON.stringify(selector)],
  };
  return [...(hasTag ? [hasTag] : []), matches];
}

/** The position before all that the filter may let through. */
function startOf(order: DeploymentOrder, { sinceMs }: DeploymentFilter): DeploymentListCursor {
  return order === "changed" && sinceMs !== undefined ? { atMs: sinceMs, id: "" } : ORDERS[order].start;
}

/** The condition of what comes after a position. */
export function afterPosition(order: DeploymentOrder, { atMs, id }: DeploymentListCursor): Condition {
  return rangeOf(order, ORDERS[order].direction === "ASC" ? ">" : "<", atMs, id);
}

function upToPosition(order: DeploymentOrder, { at_ms, id }: Position): Condition {
  return rangeOf(order, ORDERS[order].direction === "ASC" ? "<=" : ">=", at_ms, id);
}

function rangeOf(order: DeploymentOrder, comparison: "<" | "<=" | ">" | ">=", atMs: number, id: string): Condition {
  const { time } = ORDERS[order];
  const range = `(${time}, d.id) ${comparison} (?, ?)`;
  if (order === "created") return { sql: range, values: [atMs, id] };
  // SQLite finds the beginning in the index of an expression by the expression alone, not together with the id.
  return { sql: `${time} ${comparison.charAt(0)}= ? AND ${range}`, values: [atMs, atMs, id] };
}

export function pageSql(order: DeploymentOrder, conditions: readonly Condition[], limit: number) {
  return select(order, "octet_length(d.spec) AS bytes, ", conditions, "LIMIT ?", [limit]);
}

export function positionSql(order: DeploymentOrder, conditions: readonly Condition[], offset: number) {
  return select(order, "", conditions, "LIMIT 1 OFFSET ?", [offset]);
}

function select(
  order: DeploymentOrder,
  columns: string,
  conditions: readonly Condition[],
  end: string,
  endValues: readonly Value[],
): { readonly sql: string; readonly values: readonly Value[] } {
  const { time, direction } = ORDERS[order];
  return {
    sql: /* sql */ `
      SELECT ${columns}${time} AS at_ms, d.id AS id FROM deployments d
      WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}
      ORDER BY ${time} ${direction}, d.id ${direction} ${end}`,
    values: [...conditions.flatMap(({ values }) => values), ...endValues],
  };
}

function recordsSql(dialect: Dialect): string {
  return /* sql */ `
    SELECT ${DEPLOYMENT_COLUMNS}, NULL AS account_bytes FROM deployments d ${DEPLOYMENT_JOINS}
    WHERE d.id IN ${dialect.jsonTexts("?")}`;
}

/** As many as a page may have, with specifications of at most `MAX_PAGE_BYTES` unless the first alone is larger. */
function fitting<T extends { readonly bytes: number }>(found: readonly T[], limit: number): readonly T[] {
  let bytes = 0;
  const tooMany = found.findIndex((each, index) => {
    if (index === limit || (index > 0 && bytes >= MAX_PAGE_BYTES)) return true;
    bytes += each.bytes;
    return false;
  });
  return tooMany < 0 ? found : found.slice(0, tooMany);
}
