import type { AssetOrder } from "../../../protocol/assets/asset-request.ts";
import type { AssetCursor } from "../../core/cursor.ts";
import { BUDGET_BIT, REASON_BITS, TIMELESS_BITS } from "../../core/attention.ts";
import type { AssetFilter, AssetWithState, StateTime } from "../assets.ts";
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
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
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
}

/**
 * Returns the statement for one page of an account's assets that are filtered by these criteria: a range scan of the index
 * of the order, or, `among` few assets, a look at each of them. Its parameters are the account, the cursor, the service time,
 * `renewalOffset`, those of each criterion, those few, and the limit.
 */
export function listSql(
  criteria: readonly Criterion[],
  dialect: Dialect,
  order: AssetOrder = "created_at",
  among: "all" | "few" = "all",
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
    among === "all" ? ["a.account_id", column] : ["coalesce(a.account_id, '')", `(${column} + 0)`];
  if (among === "few") conditions.push(` AND a.uuid IN ${dialect.jsonTexts(`?${next++}`)}`);
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
    });
  }
  if (type !== undefined) criteria.push({ name: "type", condition: (first) => `a.type = ?${first}`, values: [type] });
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
      condition: (first) => `t.agent_version = ?${first}`,
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
  readonly #statements = new Map<string, string>();

  constructor(executor: Executor, maxFew: number = MAX_FEW) {
    this.#executor = executor;
    this.#maxFew = maxFew;
  }

  /** Returns at most `limit` assets after the cursor. */
  async page(
    accountId: string,
    filter: AssetFilter,
    time: StateTime,
    limit: number,
    after: AssetCursor | undefined,
  ): Promise<AssetWithState[]> {
    const criteria = criteriaOf(filter, time);
    const order = filter.order ?? "created_at";
    const { at, uuid } = after ?? startOf(order, filter);
    const values: Value[] = [accountId, at, uuid, time.serviceNowMs, renewalOffset(time)];
    for (const criterion of criteria) values.push(...criterion.values);
    const few = await this.#findFew(accountId, filter.selector ?? []);
    if (few) values.push(JSON.stringify(few));
    values.push(limit);
    const statement = this.#statement(criteria, order, few ? "few" : "all");
    return (await this.#executor.allValues(statement, values)).map(toAssetWithState);
  }

  /**
   * Returns the assets with the tag of a term that few have, among which all are that the selector matches; `undefined` if each
   * term has many: so many assets of the list match then that reading it in its order soon finds a page.
   */
  async #findFew(accountId: string, selector: readonly SelectorTerm[]): Promise<readonly string[] | undefined> {
    const { dialect } = this.#executor;
    for (const { key, values } of tagTermsOf(selector)) {
      const tagged = await this.#executor.all<{ readonly uuid: string }>(
        `SELECT g.asset_uuid AS uuid FROM asset_tags g
         WHERE g.account_id = ?1 AND g.key = ?2 AND g.value IN ${dialect.jsonTexts("?3")} LIMIT ${this.#maxFew + 1}`,
        [accountId, key, JSON.stringify(values)],
      );
      if (tagged.length <= this.#maxFew) return tagged.map(({ uuid }) => uuid);
    }
    return undefined;
  }

  /** Kept, so that the executor finds the prepared one quickly. */
  #statement(criteria: readonly Criterion[], order: AssetOrder, among: "all" | "few"): string {
    const name = [among, order, ...criteria.map((criterion) => criterion.name)].join(" ");
    const sql = this.#statements.get(name) ?? listSql(criteria, this.#executor.dialect, order, among);
    this.#statements.set(name, sql);
    return sql;
  }
}

/** The letters that LIKE ignores the case of in SQLite, and that `lower` changes in PostgreSQL with the columns' collation. */
function toLowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes the wildcards of LIKE. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
