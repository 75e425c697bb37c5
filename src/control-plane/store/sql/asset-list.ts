import type { AssetCursor } from "../../core/asset-cursor.ts";
import type { Asset } from "../../core/asset.ts";
import type { AssetFilter } from "../assets.ts";
import { ASSET_COLUMNS, ASSET_JOINS, type AssetRow, toAsset } from "./asset-row.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import type { Value } from "./statement.ts";

const CRITERIA = ["status", "type", "text"] as const satisfies (keyof AssetFilter)[];
type Criterion = (typeof CRITERIA)[number];

/** Before every asset of a list. */
const FIRST_PAGE_CURSOR: AssetCursor = { createdAt: -1, uuid: "" };

/**
 * Returns the statement for one page of an account's assets that are filtered by these criteria: a range scan of the index
 * `assets_by_account`. Its parameters are the account, the cursor, one for each criterion, and the limit.
 */
export function listSql(criteria: readonly Criterion[], { forLike }: Dialect): string {
  const conditions = criteria.map((criterion, index) => ` AND ${condition(criterion, `?${index + 4}`, forLike)}`);
  return /* sql */ `
    SELECT ${ASSET_COLUMNS} FROM assets a ${ASSET_JOINS}
    WHERE a.account_id = ?1 AND (a.created_at, a.uuid) > (?2, ?3)${conditions.join("")}
    ORDER BY a.created_at, a.uuid LIMIT ?${criteria.length + 4}`;
}

function condition(criterion: Criterion, parameter: string, forLike: Dialect["forLike"]): string {
  if (criterion === "type") return `a.type = ${parameter}`;
  if (criterion === "status") {
    const isActive = "'active' IN (coalesce(s.status, ''), coalesce(p.status, ''))";
    return `CASE WHEN ${isActive} THEN 'active' ELSE 'inactive' END = ${parameter}`;
  }
  const matches = ["a.name", "a.serial_number"].map(
    (column) => String.raw`${forLike(column)} LIKE ${parameter} ESCAPE '\'`,
  );
  return `(${matches.join(" OR ")})`;
}

/** The lists of assets, with a statement for each set of criteria. */
export class AssetList {
  readonly #executor: Executor;
  readonly #statements = new Map<string, string>();

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  /** Returns at most `limit` assets after the cursor. */
  async page(accountId: string, filter: AssetFilter, limit: number, after = FIRST_PAGE_CURSOR): Promise<Asset[]> {
    const criteria = CRITERIA.filter((criterion) => filter[criterion] !== undefined);
    const values: Value[] = [accountId, after.createdAt, after.uuid];
    for (const criterion of criteria) values.push(toValue(criterion, filter[criterion] ?? ""));
    values.push(limit);
    return (await this.#executor.all<AssetRow>(this.#statement(criteria), values)).map(toAsset);
  }

  /** Kept, so that the executor finds the prepared one quickly. */
  #statement(criteria: readonly Criterion[]): string {
    const name = criteria.join(" ");
    const sql = this.#statements.get(name) ?? listSql(criteria, this.#executor.dialect);
    this.#statements.set(name, sql);
    return sql;
  }
}

function toValue(criterion: Criterion, value: string): string {
  return criterion === "text" ? `%${escapeLike(toLowerAscii(value))}%` : value;
}

/** The letters that LIKE ignores the case of in SQLite, and that `lower` changes in PostgreSQL with the columns' collation. */
function toLowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes the wildcards of LIKE. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
