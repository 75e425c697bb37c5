import type { RegisteredKey, SealingKeyStore } from "../sealing-keys.ts";
import type { Executor } from "./executor.ts";
import { all, change, one, type Work } from "./statement.ts";

const FIND_CURRENT = "SELECT id FROM sealing_keys WHERE is_current = 1";
// An index allows one current key: of several that register at a time, the first one stays.
const REGISTER = "INSERT INTO sealing_keys (id, created_at_ms, is_current) VALUES (?, ?, 1) ON CONFLICT DO NOTHING";
const LIST = "SELECT id, created_at_ms, is_current FROM sealing_keys ORDER BY created_at_ms, id";
const ADD = "INSERT INTO sealing_keys (id, created_at_ms, is_current) VALUES (?, ?, 0) ON CONFLICT DO NOTHING";
const FIND = "SELECT id FROM sealing_keys WHERE id = ?";
const CLEAR_CURRENT = "UPDATE sealing_keys SET is_current = 0 WHERE id = ? AND is_current = 1";
const MAKE_CURRENT = "UPDATE sealing_keys SET is_current = 1 WHERE id = ?";
const REMOVE_UNUSED = /* sql */ `
  DELETE FROM sealing_keys WHERE id = ?1 AND is_current = 0
    AND NOT EXISTS (SELECT 1 FROM asset_variables WHERE key_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM fleet_revisions WHERE key_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM sim_operator_credentials WHERE key_id = ?1)
    AND NOT EXISTS (SELECT 1 FROM alert_channels WHERE key_id = ?1)`;
const COUNT_USED = /* sql */ `
  SELECT key_id AS id, count(*) AS count FROM (
    SELECT key_id FROM asset_variables UNION ALL SELECT key_id FROM fleet_revisions
    UNION ALL SELECT key_id FROM sim_operator_credentials UNION ALL SELECT key_id FROM alert_channels
  ) AS used GROUP BY key_id`;
const REMOVE_ALL = "DELETE FROM sealing_keys WHERE id <> ?";
// One search of the index for each key: reading all rows takes seconds for millions of variables.
const LIST_USED = /* sql */ `
  WITH RECURSIVE
    variable_keys (id) AS (
      SELECT min(key_id) FROM asset_variables
      UNION ALL
      SELECT (SELECT min(v.key_id) FROM asset_variables v WHERE v.key_id > k.id) FROM variable_keys k
      WHERE k.id IS NOT NULL
    ),
    revision_keys (id) AS (
      SELECT min(key_id) FROM fleet_revisions
      UNION ALL
      SELECT (SELECT min(r.key_id) FROM fleet_revisions r WHERE r.key_id > k.id) FROM revision_keys k
      WHERE k.id IS NOT NULL
    )
  SELECT id FROM variable_keys WHERE id IS NOT NULL
  UNION
  SELECT id FROM revision_keys WHERE id IS NOT NULL
  UNION
  SELECT DISTINCT key_id FROM sim_operator_credentials
  UNION
  SELECT DISTINCT key_id FROM alert_channels
  ORDER BY id`;

interface KeyRow {
  readonly id: string;
}

export class SqlSealingKeyStore implements SealingKeyStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async findCurrent(): Promise<string | undefined> {
    return (await this.#executor.one<KeyRow>(FIND_CURRENT))?.id;
  }

  async register(id: string, createdAtMs: number): Promise<string> {
    return this.#executor.transact(() => register(id, createdAtMs));
  }

  async registerOrReplaceUnused(id: string, createdAtMs: number): Promise<string> {
    return this.#executor.transact(function* (): Work<string> {
      if ((yield* all<KeyRow>(LIST_USED)).length === 0) yield* change(REMOVE_ALL, [id]);
      return yield* register(id, createdAtMs);
    });
  }

  async list(): Promise<readonly RegisteredKey[]> {
    const rows = await this.#executor.all<KeyRow & { readonly created_at_ms: number; readonly is_current: number }>(
      LIST,
    );
    return rows.map((row) => ({ id: row.id, createdAtMs: row.created_at_ms, isCurrent: row.is_current === 1 }));
  }

  async add(id: string, createdAtMs: number): Promise<void> {
    await this.#executor.change(ADD, [id, createdAtMs]);
  }

  async setCurrent(from: string, to: string): Promise<boolean> {
    return this.#executor.transact(function* (): Work<boolean> {
      if (!(yield* one<KeyRow>(FIND, [to]))) return false;
      if ((yield* change(CLEAR_CURRENT, [from])) === 0) return false;
      yield* change(MAKE_CURRENT, [to]);
      return true;
    });
  }

  async removeUnused(id: string): Promise<boolean> {
    return (await this.#executor.change(REMOVE_UNUSED, [id])) > 0;
  }

  async countUsed(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#executor.all<KeyRow & { readonly count: number }>(COUNT_USED);
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  async listUsed(): Promise<readonly string[]> {
    return (await this.#executor.all<KeyRow>(LIST_USED)).map(({ id }) => id);
  }
}

function* register(id: string, createdAtMs: number): Work<string> {
  yield* change(REGISTER, [id, createdAtMs]);
  return (yield* one<KeyRow>(FIND_CURRENT))?.id ?? id;
}
