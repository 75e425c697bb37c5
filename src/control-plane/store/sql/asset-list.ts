import type { AssetOrder } from "../../../protocol/assets/asset-request.ts";
import type { AssetCursor } from "../../core/cursor.ts";
import { BUDGET_BIT, REASON_BITS, TIMELESS_BITS } from "../../core/attention.ts";
import {
  type AssetFilter,
  type AssetPage,
  type AssetWithState,
  MAX_SCANNED_ASSETS,
  type StateTime,
} from "../assets.ts";
import {
  ASSET_COLUMNS,
  ASSET_JOINS,
  isConnectedSql,
  lastSeenSql,
  renewalOffset,
  STATE_JOIN,
  stateColumns,
  toAssetWithState,
} from "./asset-row.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { matchesSql, tagIsSql, tagTermsOf } from "./selector-sql.ts";
import type { Value } from "./statement.ts";

/** How an order is read from its index, `assets_by_account` or `assets_by_update`, and what comes before all of it. */
interface IndexOrder {
  readonly column: string;
  readonly direction: "ASC" | "DESC";
  readonly start: AssetCursor;
}

const FIRST: AssetCursor = { at: -1, uuid: "" };
const LAST: AssetCursor = { at: Number.MAX_SAFE_INTEGER, uuid: "" };
const ORDERS: Readonly<Record<AssetOrder, IndexOrder>> = {
  created_at: { column: "a.created_at", direction: "ASC", start: FIRST },
  "-created_at": { column: "a.created_at", direction: "DESC", start: LAST },
  updated_at: { column: "a.updated_at", direction: "ASC", start: FIRST },
  "-updated_at": { column: "a.updated_at", direction: "DESC", start: LAST },
};

/** So many assets are looked at one by one for a page, where all that match are known to be among them. */
const MAX_FEW = 1_000;

/** The first assets that are looked at are so many times those that the page may have; each further time as many times more. */
const FIRST_WINDOW = 4;

/** Which assets a page is read from: all of the account, those up to a position of the order, or a few by their UUIDs. */
type Among = "all" | "window" | "few";

/** The parameters before those of the criteria: account, cursor, service time, `renewalOffset`. */
const IS_CONNECTED = isConnectedSql("?4");
const LAST_SEEN = lastSeenSql("?4", "?5");
const FIRST_PARAMETERS = 5;

/** What the assets of a list have in common. */
interface Criterion {
  /** Identifies the condition. */
  readonly name: string;
  /** @param first number of its first parameter; the others follow */
  readonly condition: (first: number, dialect: Dialect) => string;
  readonly values: readonly Value[];
  /** Whether it ends the range of the index of the order, so that nothing is looked at beyond it. */
  readonly isEnd?: boolean;
}

/**
 * Returns the statement for one page of an account's assets that are filtered by these criteria: a range scan of the index
 * of the order, or, `among` few assets, a look at each of them. Its parameters are the account, the cursor, the service time,
 * `renewalOffset`, those of each criterion, the end of the window or those few, and the limit.
 */
export function listSql(
  criteria: readonly Criterion[],
  dialect: Dialect,
  order: AssetOrder = "created_at",
  among: Among = "all",
): string {
  const { column, direction } = ORDERS[order];
  let next = FIRST_PARAMETERS + 1;
  const conditions = criteria.map(({ condition, values }) => {
    const first = next;
    next += values.length;
    return ` AND ${condition(first, dialect)}`;
  });
  // As expressions, so that neither database reads the index of the order to its end for them.
  const [account, time] =
    among === "few" ? ["coalesce(a.account_id, '')", `(${column} + 0)`] : ["a.account_id", column];
  if (among === "few") conditions.push(` AND a.uuid IN ${dialect.jsonTexts(`?${next++}`)}`);
  if (among === "window") {
    const comparison = direction === "ASC" ? "<=" : ">=";
    conditions.push(` AND (${column}, a.uuid) ${comparison} (?${next++}, ?${next++})`);
  }
  return /* sql */ `
    SELECT ${ASSET_COLUMNS}, ${stateColumns("?4", "?5")} FROM assets a ${ASSET_JOINS} ${STATE_JOIN}
    WHERE ${account} = ?1 AND (${time}, a.uuid) ${direction === "ASC" ? ">" : "<"} (?2, ?3)${conditions.join("")}
    ORDER BY ${time} ${direction}, a.uuid ${direction} LIMIT ?${next}`;
}

/** Returns the criteria of a filter. */
export function criteriaOf(filter: AssetFilter, time: StateTime): Criterion[] {
  const { status, type, text, connected, attention, accepted, agentVersion } = filter;
  const criteria: Criterion[] = [];
  if (status !== undefined) {
    const isActive = "'active' IN (coalesce(s.status, ''), coalesce(p.status, ''))";
    criteria.push({
      name: "status",
      condition: (first) => `CASE WHEN ${isActive} THEN 'active' ELSE 'inactive' END = ?${first}`,
      values: [status],
    });
  }
  // The other order begins then.
  if (filter.updatedSince !== undefined && filter.order !== "updated_at") {
    criteria.push({
      name: "updated since",
      condition: (first) => `a.updated_at >= ?${first}`,
      values: [filter.updatedSince],
      isEnd: true,
    });
  }
  // As expressions, so that the assets are read by the index of the order, and not by that of the criterion.
  if (type !== undefined)
    criteria.push({ name: "type", condition: (first) => `coalesce(a.type, '') = ?${first}`, values: [type] });
  if (text !== undefined) {
    criteria.push({
      name: "text",
      condition: (first, dialect) => `(${textMatches(first, dialect).join(" OR ")})`,
      values: [`%${escapeLike(toLowerAscii(text))}%`],
    });
  }
  if (connected !== undefined) {
    const condition = connected ? IS_CONNECTED : `NOT ${IS_CONNECTED}`;
    criteria.push({ name: condition, condition: () => condition, values: [] });
  }
  if (accepted !== undefined) {
    const condition = `t.accepted_at IS ${accepted ? "NOT NULL" : "NULL"}`;
    criteria.push({ name: condition, condition: () => condition, values: [] });
  }
  if (agentVersion !== undefined) {
    criteria.push({
      name: "agent version",
      condition: (first) => `coalesce(t.agent_version, '') = ?${first}`,
      values: [agentVersion],
    });
  }
  if (filter.selector !== undefined) {
    const [tag] = tagTermsOf(filter.selector);
    if (tag) {
      criteria.push({
        name: "tag",
        condition: (first, dialect) => tagIsSql(dialect, "a.uuid", `?${first}`, `?${first + 1}`),
        values: [tag.key, JSON.stringify(tag.values)],
      });
    }
    criteria.push({
      name: "selector",
      condition: (first, dialect) => matchesSql(dialect, `?${first}`),
      values: [JSON.stringify(filter.selector)],
    });
  }
  if (attention !== undefined) criteria.push(attentionCriterion(attention, time));
  return criteria;
}

function textMatches(parameter: number, { forLike }: Dialect): string[] {
  return ["a.name", "a.serial_number"].map((column) => String.raw`${forLike(column)} LIKE ?${parameter} ESCAPE '\'`);
}

const notSeen = (parameter: number): string =>
  `(t.last_seen_at < ?${parameter} AND NOT ${IS_CONNECTED} AND ${LAST_SEEN} < ?${parameter})`;
const budget = (parameter: number): string =>
  `((t.reasons & ${BUDGET_BIT}) <> 0 AND t.budget_spent_until > ?${parameter})`;

function attentionCriterion(reason: NonNullable<AssetFilter["attention"]>, time: StateTime): Criterion {
  const name = `attention ${reason}`;
  if (reason === "not_seen") return { name, condition: notSeen, values: [time.notSeenBefore] };
  if (reason === "data_budget_spent") return { name, condition: budget, values: [time.now] };
  if (reason !== "any") return { name, condition: () => `(t.reasons & ${REASON_BITS[reason]}) <> 0`, values: [] };
  return {
    name,
    condition: (first) => `((t.reasons & ${TIMELESS_BITS}) <> 0 OR ${budget(first)} OR ${notSeen(first + 1)})`,
    values: [time.now, time.notSeenBefore],
  };
}

/** The position before all that the filter may let through. */
function startOf(order: AssetOrder, { updatedSince }: AssetFilter): AssetCursor {
  return order === "updated_at" && updatedSince !== undefined ? { at: updatedSince, uuid: "" } : ORDERS[order].start;
}

/** The lists of assets, with a statement for each set of criteria. */
export class AssetList {
  readonly #executor: Executor;
  readonly #maxFew: number;
  readonly #maxScanned: number;
  readonly #statements = new Map<string, string>();

  constructor(executor: Executor, maxFew: number = MAX_FEW, maxScanned: number = MAX_SCANNED_ASSETS) {
    this.#executor = executor;
    this.#maxFew = maxFew;
    this.#maxScanned = maxScanned;
  }

  /** Returns at most `limit` assets after the cursor, fewer if `MAX_SCANNED_ASSETS` is reached. */
  async page(
    accountId: string,
    filter: AssetFilter,
    time: StateTime,
    limit: number,
    after: AssetCursor | undefined,
  ): Promise<AssetPage> {
    const criteria = criteriaOf(filter, time);
    const order = filter.order ?? "created_at";
    const start = after ?? startOf(order, filter);
    const read = async (among: Among, from: AssetCursor, values: readonly Value[], count: number) => {
      const first: Value[] = [accountId, from.at, from.uuid, time.serviceNowMs, renewalOffset(time)];
      const parameters = [...first, ...criteria.flatMap((each) => each.values), ...values, count];
      const rows = await this.#executor.allValues(this.#statement(criteria, order, among), parameters);
      return rows.map(toAssetWithState);
    };
    // One more than the page holds shows whether there is another page.
    if (criteria.every(({ isEnd = false }) => isEnd))
      return toPage(await read("all", start, [], limit + 1), limit, order);
    const few = await this.#findFew(accountId, filter);
    if (few) return toPage(await read("few", start, [JSON.stringify(few)], limit + 1), limit, order);

    const found: AssetWithState[] = [];
    let from = start;
    // Where nearly all match, a few more than the page holds are looked at; where few do, ever more, up to the limit.
    for (let scanned = 0, window = limit * FIRST_WINDOW; ; window *= FIRST_WINDOW) {
      const count = Math.min(window, this.#maxScanned - scanned);
      const end = await this.#positionAt(accountId, filter, order, from, count - 1);
      const missing = limit + 1 - found.length;
      found.push(
        ...(end ? await read("window", from, [end.at, end.uuid], missing) : await read("all", from, [], missing)),
      );
      scanned += count;
      if (!end || found.length > limit) return toPage(found, limit, order);
      if (scanned >= this.#maxScanned) return { assets: found, next: end };
      from = end;
    }
  }

  /** Returns the position of the asset that comes after so many others of the order; `undefined` if there are not so many. */
  async #positionAt(
    accountId: string,
    { updatedSince }: AssetFilter,
    order: AssetOrder,
    { at, uuid }: AssetCursor,
    offset: number,
  ): Promise<AssetCursor | undefined> {
    const { column, direction } = ORDERS[order];
    const since = order === "-updated_at" ? updatedSince : undefined;
    return this.#executor.one<AssetCursor>(
      `SELECT ${column} AS at, a.uuid AS uuid FROM assets a
       WHERE a.account_id = ?1 AND (${column}, a.uuid) ${direction === "ASC" ? ">" : "<"} (?2, ?3)
         ${since === undefined ? "" : "AND a.updated_at >= ?5"}
       ORDER BY ${column} ${direction}, a.uuid ${direction} LIMIT 1 OFFSET ?4`,
      [accountId, at, uuid, offset, ...(since === undefined ? [] : [since])],
    );
  }

  /**
   * Returns the assets that meet a criterion which few do, and among which all are that the filter matches; `undefined` if each
   * criterion has many, or no index: so many assets of the list match then that reading it in its order mostly soon finds a page.
   */
  async #findFew(accountId: string, filter: AssetFilter): Promise<readonly string[] | undefined> {
    for (const { sql, values } of fewCandidates(filter, this.#executor.dialect)) {
      const found = await this.#executor.all<{ readonly uuid: string }>(`${sql} LIMIT ${this.#maxFew + 1}`, [
        accountId,
        ...values,
      ]);
      if (found.length <= this.#maxFew) return found.map(({ uuid }) => uuid);
    }
    return undefined;
  }

  /** Kept, so that the executor finds the prepared one quickly. */
  #statement(criteria: readonly Criterion[], order: AssetOrder, among: Among): string {
    const name = [among, order, ...criteria.map((criterion) => criterion.name)].join(" ");
    const sql = this.#statements.get(name) ?? listSql(criteria, this.#executor.dialect, order, among);
    this.#statements.set(name, sql);
    return sql;
  }
}

/** The page of these assets, of which there is one more than it holds if another page follows. */
function toPage(found: readonly AssetWithState[], limit: number, order: AssetOrder): AssetPage {
  const assets = found.slice(0, limit);
  const last = found.length > limit ? assets.at(-1) : undefined;
  return { assets, next: last && positionOf(last, order) };
}

function positionOf({ asset, state }: AssetWithState, order: AssetOrder): AssetCursor {
  return { at: order.endsWith("updated_at") ? state.updatedAt : asset.createdAt, uuid: asset.uuid };
}

interface Candidates {
  readonly sql: string;
  /** After the account. */
  readonly values: readonly Value[];
}

function ofState(condition: string, values: readonly Value[] = []): Candidates {
  return { sql: `SELECT t.asset_uuid AS uuid FROM asset_states t WHERE t.account_id = ?1 AND ${condition}`, values };
}

/** Statements that each read from an index the assets that meet one criterion of a filter. */
export function fewCandidates(filter: AssetFilter, dialect: Dialect): readonly Candidates[] {
  const { type, connected, attention, accepted, agentVersion, selector = [] } = filter;
  const isBit = attention !== undefined && attention !== "any" && attention !== "not_seen";
  return [
    ...tagTermsOf(selector).map(({ key, values }) => ({
      sql: `SELECT g.asset_uuid AS uuid FROM asset_tags g
        WHERE g.account_id = ?1 AND g.key = ?2 AND ${dialect.isOneOf("g.value", "?3")}`,
      values: [key, JSON.stringify(values)],
    })),
    ...(type === undefined
      ? []
      : [{ sql: "SELECT a.uuid AS uuid FROM assets a WHERE a.account_id = ?1 AND a.type = ?2", values: [type] }]),
    ...(agentVersion === undefined ? [] : [ofState("t.agent_version = ?2", [agentVersion])]),
    ...(accepted === false ? [ofState("t.accepted_at IS NULL")] : []),
    ...(connected === true ? [ofState("t.instance_id IS NOT NULL")] : []),
    // As many are looked at as need attention for any reason.
    ...(isBit
      ? [
          ofState(
            `t.reasons <> 0 AND (t.reasons & ${attention === "data_budget_spent" ? BUDGET_BIT : REASON_BITS[attention]}) <> 0`,
          ),
        ]
      : []),
  ];
}

/** The letters that LIKE ignores the case of in SQLite, and that `lower` changes in PostgreSQL with the columns' collation. */
function toLowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes the wildcards of LIKE. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
