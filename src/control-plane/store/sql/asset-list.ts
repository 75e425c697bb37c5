import type { AssetCursor } from "../../core/asset-cursor.ts";
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
import type { SelectorTerm } from "../../../protocol/selector.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { findTagTerm, hasTagSql, matchesSql } from "./selector-sql.ts";
import type { Value } from "./statement.ts";

/** Before every asset of a list. */
const FIRST_PAGE_CURSOR: AssetCursor = { createdAt: -1, uuid: "" };

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
 * `assets_by_account`. Its parameters are the account, the cursor, the service time, `renewalOffset`, those of each criterion, and the limit.
 */
export function listSql(criteria: readonly Criterion[], dialect: Dialect): string {
  let next = FIRST_PARAMETERS + 1;
  const conditions = criteria.map(({ condition, values }) => {
    const first = next;
    next += values.length;
    return ` AND ${condition(first, dialect)}`;
  });
  return /* sql */ `
    SELECT ${ASSET_COLUMNS}, ${stateColumns("?4", "?5")} FROM assets a ${ASSET_JOINS} ${STATE_JOIN}
    WHERE a.account_id = ?1 AND (a.created_at, a.uuid) > (?2, ?3)${conditions.join("")}
    ORDER BY a.created_at, a.uuid LIMIT ?${next}`;
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
  if (filter.selector !== undefined) criteria.push(...selectorCriteria(filter.selector));
  if (attention !== undefined) criteria.push(attentionCriterion(attention, time));
  return criteria;
}

/** A term with a value is found by the index of tags; what is found is compared with all terms. */
function selectorCriteria(terms: readonly SelectorTerm[]): Criterion[] {
  const tag = findTagTerm(terms);
  const matches: Criterion = {
    name: "selector",
    condition: (first, dialect) => matchesSql(dialect, `?${first}`),
    values: [JSON.stringify(terms)],
  };
  if (!tag) return [matches];
  const found: Criterion = {
    name: "tag",
    condition: (first, dialect) => hasTagSql(dialect, "?1", `?${first}`, `?${first + 1}`),
    values: [tag.key, JSON.stringify(tag.values)],
  };
  return [found, matches];
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

/** The lists of assets, with a statement for each set of criteria. */
export class AssetList {
  readonly #executor: Executor;
  readonly #statements = new Map<string, string>();

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  /** Returns at most `limit` assets after the cursor. */
  async page(
    accountId: string,
    filter: AssetFilter,
    time: StateTime,
    limit: number,
    after = FIRST_PAGE_CURSOR,
  ): Promise<AssetWithState[]> {
    const criteria = criteriaOf(filter, time);
    const values: Value[] = [accountId, after.createdAt, after.uuid, time.serviceNowMs, renewalOffset(time)];
    for (const criterion of criteria) values.push(...criterion.values);
    values.push(limit);
    return (await this.#executor.allValues(this.#statement(criteria), values)).map(toAssetWithState);
  }

  /** Kept, so that the executor finds the prepared one quickly. */
  #statement(criteria: readonly Criterion[]): string {
    const name = criteria.map((criterion) => criterion.name).join(" ");
    const sql = this.#statements.get(name) ?? listSql(criteria, this.#executor.dialect);
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
