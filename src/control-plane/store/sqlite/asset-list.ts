import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { AssetCursor } from "../../core/asset-cursor.ts";
import type { Asset } from "../../core/asset.ts";
import type { AssetFilter } from "../assets.ts";
import { ASSET_COLUMNS, ASSET_JOINS, type AssetRow, toAsset } from "./asset-row.ts";

/** One page of an account's assets: a range scan of the index `assets_by_account`. */
export const LIST_SQL = /* sql */ `
  SELECT ${ASSET_COLUMNS} FROM assets a ${ASSET_JOINS}
  WHERE a.account_id = $account AND (a.created_at, a.uuid) > ($created_at, $uuid)
    AND ($status IS NULL
      OR iif('active' IN (coalesce(s.status, ''), coalesce(p.status, '')), 'active', 'inactive') = $status)
    AND ($type IS NULL OR a.type = $type)
    AND ($text IS NULL OR a.name LIKE $text ESCAPE '\\' OR a.serial_number LIKE $text ESCAPE '\\')
  ORDER BY a.created_at, a.uuid LIMIT $limit`;

/** Before every asset of a list. */
const FIRST_PAGE_CURSOR: AssetCursor = { createdAt: -1, uuid: "" };

export class SqliteAssetList {
  readonly #select: StatementSync;

  constructor(database: DatabaseSync) {
    this.#select = database.prepare(LIST_SQL);
  }

  page(accountId: string, filter: AssetFilter, limit: number, after = FIRST_PAGE_CURSOR): Asset[] {
    const rows = this.#select.all({
      $account: accountId,
      $created_at: after.createdAt,
      $uuid: after.uuid,
      $status: filter.status ?? null,
      $type: filter.type ?? null,
      $text: filter.text === undefined ? null : `%${escapeLike(filter.text)}%`,
      $limit: limit,
    });
    return (rows as unknown as AssetRow[]).map(toAsset);
  }
}

/** Escapes the wildcards of LIKE. */
function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}
