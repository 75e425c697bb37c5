/** The account that has all rows. */
export const ACCOUNT = "acc_pages";
/** Of how many rows there are few, however many there are in all. */
export const FEW = 25;
const START = 1_700_000_000;
const SECONDS_APART = 30;
/** After every row out of a million. */
export const NOW = START + 2_000_000 * SECONDS_APART;

const FIRST_NUMBER = 100_000_000_000;

export const assetUuid = (index: number): string => `00000000-0000-7000-8000-${FIRST_NUMBER + index}`;
/** When the asset or the deployment with this number was made, in Unix seconds. */
export const createdAt = (index: number): number => START + index * SECONDS_APART;

/** A prime, so that what it multiplies is spread over all rows. */
const SPREAD = 7919;

/**
 * Returns the statements that write so many assets, with a SIM each, and so many deployments. They are the same for both
 * databases. What few rows have is spread over all of them.
 */
export function rowStatements(count: number): readonly string[] {
  const isFew = `i % ${count / FEW} = ${count / FEW / 2}`;
  const uuid = `'00000000-0000-7000-8000-' || CAST(${FIRST_NUMBER} + i AS TEXT)`;
  const spread = `(i * ${SPREAD} % ${count})`;
  const at = `${START} + i * ${SECONDS_APART}`;
  const tag = (key: string, value: string, where: string): string =>
    `INSERT INTO asset_tags (asset_uuid, account_id, key, value) SELECT ${uuid}, '${ACCOUNT}', '${key}', ${value} FROM n WHERE ${where}`;
  return [
    `CREATE TEMP TABLE n AS WITH RECURSIVE numbers (i) AS
       (SELECT CAST(0 AS BIGINT) UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ${count}) SELECT i FROM numbers`,
    `INSERT INTO accounts (id, name, created_at, asset_count) VALUES ('${ACCOUNT}', 'pages', 0, ${count})`,
    `INSERT INTO instances (id, version, started_at_ms, lease_until_ms) VALUES ('i', '1', 0, ${(NOW + 60) * 1000})`,
    `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, updated_at, is_active)
     SELECT ${uuid}, '${ACCOUNT}', 'GW-' || CAST(i AS TEXT),
       CASE WHEN ${isFew} THEN 'Rare ' ELSE 'Gateway ' END || CAST(i AS TEXT),
       CASE WHEN ${isFew} THEN 'rare' WHEN i % 10 = 0 THEN 'camera' ELSE 'gateway' END,
       ${at}, ${START} + ${spread} * ${SECONDS_APART}, CASE WHEN i % 10 = 3 THEN 0 ELSE 1 END FROM n`,
    `INSERT INTO sims (asset_uuid, kind, iccid, sid, network_group, status, plan_state)
     SELECT ${uuid}, 'supersim', '8988307' || CAST(${FIRST_NUMBER} + i AS TEXT), 'HS' || CAST(i AS TEXT), 'default_1gb',
       CASE WHEN i % 10 = 3 THEN 'inactive' ELSE 'active' END, CASE WHEN ${isFew} THEN 'spent' END FROM n`,
    `INSERT INTO asset_states (asset_uuid, account_id, created_at, instance_id, last_seen_at, agent_version, reasons, accepted_at)
     SELECT ${uuid}, '${ACCOUNT}', ${at}, CASE WHEN i % 10 = 1 THEN 'i' END, ${NOW - 3600},
       CASE WHEN ${isFew} THEN '0.9.0' ELSE '1.0.0' END,
       CASE WHEN ${isFew} THEN 288 WHEN i % 100 = 7 THEN 64 ELSE 0 END, CASE WHEN ${isFew} THEN NULL ELSE ${START} END FROM n`,
    tag("region", "CASE i % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'east' WHEN 2 THEN 'south' ELSE 'west' END", "i >= 0"),
    tag("line", "CASE i % 4 WHEN 1 THEN 'none' ELSE 'a' END", "i % 2 = 0 OR i % 4 = 1"),
    tag("site", "'rare'", isFew),
    `INSERT INTO deployments (id, account_id, asset_uuid, app, action, spec, options, status, code, created_at_ms,
       deadline_at_ms, finished_at_ms, last_seq)
     SELECT 'dep_' || CAST(${FIRST_NUMBER} + i AS TEXT), '${ACCOUNT}',
       '00000000-0000-7000-8000-' || CAST(${FIRST_NUMBER} + ${spread} AS TEXT),
       CASE WHEN ${isFew} THEN 'rare' ELSE 'app-' || CAST(i % 10 AS TEXT) END, 'deploy',
       '{"name":"app","image":"registry.example.com/app:1"}', '{}',
       CASE WHEN ${isFew} THEN 'Running' WHEN i % 20 = 3 THEN 'Fail' ELSE 'Success' END,
       CASE WHEN ${isFew} THEN NULL WHEN i % 20 = 3 THEN 'ImageNotFound' ELSE 'Success' END, (${at}) * 1000,
       (${at} + 900) * 1000, CASE WHEN ${isFew} THEN NULL ELSE (${at} + 60) * 1000 + ${spread} % 60000 END, 3 FROM n`,
  ];
}

/** Triggers that count and add rows one by one, which the statements do for all. */
export const TRIGGERS = {
  assets: ["asset_registered", "asset_state_added"],
  sims: ["sim_added"],
  deployments: ["deployment_stored"],
} as const;
