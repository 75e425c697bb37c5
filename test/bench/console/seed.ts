import { DatabaseSync } from "node:sqlite";

/** Every so many assets one needs attention. */
const ATTENTION_EACH = 7;
/** Bits of `app_unhealthy` and `disk_low`. */
const REASONS = 4 | 64;

/**
 * Writes assets with a Super SIM each, most of them seen within the last two days, in one transaction: single registrations
 * would take most of a minute.
 */
export function seedAssets(path: string, accountId: string, count: number): void {
  using database = new DatabaseSync(path);
  database.exec("BEGIN; CREATE TEMP TABLE fleet (i INTEGER, uuid TEXT, serial TEXT, at INTEGER)");
  database
    .prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO fleet SELECT i, printf('%08x-0000-7000-8000-%012x', i, i), printf('GW-%06d', i), 1780000000 + i FROM n`,
    )
    .run(count);
  database
    .prepare(
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at)
       SELECT uuid, ?, serial, 'Pump house ' || i, 'gateway', at FROM fleet`,
    )
    .run(accountId);
  database.exec(`
    INSERT INTO sims (asset_uuid, kind, iccid, sid, network_group, status)
      SELECT uuid, 'supersim', printf('8988307%012d', i), printf('HS%06d', i), 'default_1gb', 'active' FROM fleet;
    INSERT INTO identifiers (value, asset_uuid)
      SELECT uuid, uuid FROM fleet UNION ALL SELECT serial, uuid FROM fleet;
    UPDATE asset_states SET agent_version = '1.4.' || (f.i % 9),
        last_seen_at = CASE WHEN f.i % 11 = 0 THEN NULL ELSE unixepoch() - (f.i * 37) % 172800 END,
        reasons = CASE WHEN f.i % ${ATTENTION_EACH} = 0 THEN ${REASONS} ELSE 0 END
      FROM fleet f WHERE f.uuid = asset_uuid;
    DROP TABLE fleet; COMMIT; ANALYZE`);
}
