import { BUDGET_BIT, REASON_BITS, TIMELESS_BITS } from "../../core/attention.ts";
import type { AssetFilter, StateTime } from "../assets.ts";
import { isConnectedSql, lastSeenSql } from "./asset-row.ts";
import type { Dialect } from "./dialect.ts";
import { matchesSql, tagIsSql, tagTermsOf } from "./selector-sql.ts";
import type { Value } from "./statement.ts";

/** The parameters before those of the criteria: account, cursor, service time, `renewalOffset`. */
const IS_CONNECTED = isConnectedSql("?4");
const LAST_SEEN = lastSeenSql("?4", "?5");
export const FIRST_PARAMETERS = 5;

/** What the assets of a list have in common. */
export interface Criterion {
  /** Identifies the condition. */
  readonly name: string;
  /** @param first number of its first parameter; the others follow */
  readonly condition: (first: number, dialect: Dialect) => string;
  readonly values: readonly Value[];
  /** Whether it ends the range of the index of the order, so that nothing is looked at beyond it. */
  readonly isEnd?: boolean;
}

/** Returns the criteria of a filter. */
export function criteriaOf(filter: AssetFilter, time: StateTime): Criterion[] {
  const { status, type, text, connected, attention, accepted, agentVersion } = filter;
  const criteria: Criterion[] = [];
  if (status !== undefined) {
    criteria.push({
      name: "status",
      condition: (first) => `a.is_active + 0 = ?${first}`,
      values: [status === "active" ? 1 : 0],
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

/** The letters that LIKE ignores the case of in SQLite, and that `lower` changes in PostgreSQL with the columns' collation. */
function toLowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes the wildcards of LIKE. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
