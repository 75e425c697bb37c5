import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { copyDatabase } from "../../../src/control-plane/data/copy/copy.ts";
import { readCopiedMark } from "../../../src/control-plane/data/copied-mark.ts";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { COPIED_TABLES } from "../../../src/control-plane/data/copy/tables.ts";
import { CommandClient } from "../../../src/control-plane/store/postgres/command-client.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { start } from "../../support/command.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { type PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();
const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
/** Of so many interruptions, one kills the process, and the others cut its connection. */
const KILL_EACH = 10;

/** Two assets, one with SIMs, a report and deployments: one that has ended, and one that is under way. */
const ASSET_ROWS = /* sql */ `
  INSERT INTO accounts (id, name, created_at) VALUES ('acc_fixture', 'Waterworks', 1790000000);
  INSERT INTO api_keys (id, account_id, name, hash, created_at, last_used_at, revoked_at) VALUES
    ('key_live', 'acc_fixture', 'console', x'01', 1790000001, 1790000100, NULL),
    ('key_revoked', 'acc_fixture', 'old', x'02', 1790000002, NULL, 1790000050);
  INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, device_token_hash) VALUES
    ('0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'acc_fixture', 'GW-1', 'Pump house', 'gateway', 1790000003, x'03'),
    ('0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c12', 'acc_fixture', 'GW-2', 'Bare', '', 1790000004, x'04');
  INSERT INTO identifiers (value, asset_uuid) SELECT serial_number, uuid FROM assets;
  INSERT INTO device_sessions (asset_uuid) SELECT uuid FROM assets;
  INSERT INTO sims (asset_uuid, kind, iccid, sid, imsi, network_group, service_profile, status) VALUES
    ('0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'prosim', '8988307002000000002', NULL, '262011234567890', NULL, 'gold', 'active'),
    ('0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'supersim', '8988307001000000001', 'HS1', NULL, 'own-group', NULL, 'inactive');
  INSERT INTO network_groups (account_id, name) VALUES ('acc_fixture', 'own-group');
  INSERT INTO usage_series (id, iccid, bucket) VALUES (7, '8988307001000000001', 'own-group');
  INSERT INTO usage_records (series_id, start_time, bytes) VALUES (7, 1790000000, 4711);
  INSERT INTO deployments (id, account_id, asset_uuid, app, spec, status, code, created_at_ms, deadline_at_ms, finished_at_ms,
      last_seq, event_bytes) VALUES
    ('dep_failed', 'acc_fixture', '0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'web', '{"name":"web","image":"web:1"}', 'Fail',
      'DeviceNotReachable', 1790000005000, 1790000905000, 1790000006000, 2, 20),
    ('dep_running', 'acc_fixture', '0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'web', '{"name":"web","image":"web:2"}', 'Running',
      NULL, 1790000007000, 1790000907000, NULL, 0, 0);
  INSERT INTO deployment_events (deployment_id, seq, event) VALUES
    ('dep_failed', 1, '{"seq":1}'), ('dep_failed', 2, '{"seq":2}');
  INSERT INTO device_reports (asset_uuid, hash, report, reported_at)
    VALUES ('0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'h1', '{"hash":"h1","apps":[]}', 1790000007);`;

/** What is set for an asset, a fleet that it belongs to, and what operators say of SIMs. */
const FLEET_ROWS = /* sql */ `
  INSERT INTO sealing_keys (id, created_at_ms, is_current) VALUES ('key_a', 1, 1);
  INSERT INTO asset_tags (asset_uuid, account_id, key, value) SELECT uuid, account_id, 'role', 'kiosk' FROM assets;
  INSERT INTO asset_variables (asset_uuid, name, is_secret, key_id, sealed)
    SELECT uuid, 'PASSWORD', 1, 'key_a', x'01ff00' FROM assets;
  INSERT INTO asset_holds (asset_uuid, reason, set_at_ms, set_by) SELECT uuid, 'trade fair', 1, '{}' FROM assets;
  INSERT INTO fleets (id, account_id, name, selector, apps, strategy, created_at_ms)
    VALUES ('flt_1', 'acc_fixture', 'kiosks', 'role=kiosk', '["web"]', '{}', 1);
  INSERT INTO fleet_revisions (fleet_id, number, apps, hash, created_at_ms, created_by, key_id, sealed)
    VALUES ('flt_1', 1, '[]', 'h', 1, '{}', 'key_a', x'01fe00');
  INSERT INTO revision_uploads (fleet_id, number, sha256) VALUES ('flt_1', 1, 'ab');
  INSERT INTO app_owners (asset_uuid, app, fleet_id) SELECT uuid, 'web', 'flt_1' FROM assets;
  INSERT INTO fleet_members (fleet_id, asset_uuid, revision) SELECT 'flt_1', uuid, 1 FROM assets;
  INSERT INTO rollouts (id, account_id, fleet_id, kind, revision, state, strategy, wave, wave_sizes, created_by, created_at_ms,
      is_active)
    VALUES ('rol_1', 'acc_fixture', 'flt_1', 'rollout', 1, 'running', '{}', 0, '[1]', '{}', 1, 1);
  INSERT INTO rollout_targets (rollout_id, asset_uuid, wave, direction, state, since_ms)
    SELECT 'rol_1', uuid, 0, 'forward', 'pending', 1 FROM assets;
  INSERT INTO rollout_attempts (rollout_id, asset_uuid, direction, attempt, state, ended_at_ms)
    SELECT 'rol_1', uuid, 'forward', 1, 'failed', 1 FROM assets;
  INSERT INTO rollout_plans (id, account_id, fleet_id, revision, strategy, waves, created_by, created_at_ms, expires_at_ms)
    VALUES ('pln_1', 'acc_fixture', 'flt_1', 1, '{}', '[[]]', '{}', 1, 2);
  INSERT INTO rollout_events (rollout_id, seq, event) VALUES ('rol_1', 1, '{}');
  UPDATE sims SET pending = '{"since":1}', operator_status = 'scheduled', allowance_bytes = 5000000000, is_lost = 1,
    checked_at_ms = 1, next_check_at_ms = 2, manual_allowance_bytes = 6000000000, plan_state = 'spent', plan_until = 3,
    plan_due_ms = 4, plan_used_bytes = 7000000000, plan_forecast_bytes = 8000000000, plan_as_of = 5;
  INSERT INTO data_plan_settings (account_id, deployments) SELECT id, 'wait' FROM accounts;
  INSERT INTO sim_usage (asset_uuid, kind, period, start_time, bucket, bytes)
    SELECT asset_uuid, kind, 'day', 86400, 'default_1gb', 5000000000 FROM sims;
  INSERT INTO sim_usage_reads (asset_uuid, kind, period, from_time, final_until, until_time, read_at_ms)
    SELECT asset_uuid, kind, 'day', 86400, 86400, 172800, 1 FROM sims;
  INSERT INTO sim_operator_credentials (account_id, kind, changed_at_ms, key_id, sealed)
    VALUES ('acc_fixture', 'prosim', 5000000000000, 'key_a', x'01fe00');`;

/** Alerts, whom they are told, and what was told. */
const ALERT_ROWS = /* sql */ `
  INSERT INTO alerts (id, account_id, condition, subject_kind, subject_id, subject_name, severity, state, since_ms, fired_at_ms)
    VALUES ('alr_1', 'acc_fixture', 'device_offline', 'asset', '0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11', 'Pump house', 'critical',
      'firing', 1, 2);
  INSERT INTO alert_rules (account_id, rules, about_levels) SELECT id, '[]', 1 FROM accounts;
  INSERT INTO alert_routes (account_id, name, body) SELECT id, 'all', '{}' FROM accounts;
  INSERT INTO alert_channels (account_id, name, kind, shown, changed_at_ms, key_id, sealed)
    SELECT id, 'ops', 'webhook', '{}', 5000000000000, 'key_a', x'01fd00' FROM accounts;
  INSERT INTO silences (id, account_id, selector, asset_uuid, reason, created_by, created_at_ms, ends_at_ms)
    SELECT 'sil_1', account_id, '*', uuid, 'works', '{}', 1, 2 FROM assets LIMIT 1;
  INSERT INTO alert_groups (id, account_id, route, condition, severity, first_since_ms, opened_at_ms)
    SELECT 'grp_1', id, 'all', 'device_offline', 'critical', 1, 2 FROM accounts;
  INSERT INTO alert_group_members (group_id, alert_id, route, joined_at_ms) VALUES ('grp_1', 'alr_1', 'all', 2);
  INSERT INTO alert_deliveries (id, account_id, channel, group_id, message_id, message, state, created_at_ms, due_ms)
    SELECT 9, id, 'ops', 'grp_1', 'msg_1_1', '{}', 'waiting', 2, 3 FROM accounts;
  INSERT INTO service_troubles (account_id, condition, subject_id, subject_name, since_ms, until_ms)
    SELECT id, 'export_failing', 'otlp', 'OTLP', 1, 2 FROM accounts;
  INSERT INTO device_habits (asset_uuid, epoch, level_millis, level_at_ms, flaps_until_ms, pauses) SELECT uuid, 1, 500, 1, 0, '[]' FROM assets;`;

describe.skipIf(reason !== undefined)(`edge-control copy${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  let server: PostgresServer;
  beforeAll(async () => {
    databases = await PostgresDatabases.start();
    ({ server } = databases);
  });
  afterAll(() => databases[Symbol.asyncDispose]());

  /** A data directory with a database that has some rows, and an empty database. */
  async function prepare() {
    const directory = await tempDir();
    onTestFinished(() => directory[Symbol.asyncDispose]());
    const { database } = prepareDataDir(directory.path);
    await openStore(database)[Symbol.asyncDispose]();
    const rows = new DatabaseSync(database);
    rows.exec(ASSET_ROWS);
    rows.close();
    // Not given back: it carries the copy.
    const { options: to } = await databases.take();
    const name = to.database;
    return {
      dataDir: directory.path,
      database,
      name,
      to,
      url: `postgres://${to.user}@127.0.0.1:${server.port}/${name}`,
      copy: () => copyDatabase({ database, to, target: name }),
    };
  }

  /** A database with rows in every table that is copied. */
  async function prepareFull() {
    const prepared = await prepare();
    const sqlite = new DatabaseSync(prepared.database);
    sqlite.exec(`
      INSERT INTO enrolment_codes (hash, asset_uuid, created_at, expires_at)
        SELECT x'00ff01', uuid, 1, 2 FROM assets LIMIT 1;
      INSERT OR IGNORE INTO network_groups (account_id, name) SELECT id, 'own' FROM accounts;
      INSERT OR IGNORE INTO device_reports (asset_uuid, hash, report, reported_at) SELECT uuid, 'h', '{}', 1 FROM assets;
      INSERT OR IGNORE INTO device_ledgers (asset_uuid, ledger, answered_at) SELECT uuid, '{"é":1}', 1 FROM assets;
      INSERT INTO audit (account_id, at, actor_kind, actor_id, action, asset_uuid, app, outcome, details)
        VALUES ('acc_fixture', 1, 'key', 'k', 'a', 'u', 'n' || char(0) || 'm', 'ok', '{}');
      UPDATE device_sessions SET epoch = 7;
      INSERT OR IGNORE INTO connection_intervals (asset_uuid, started_at, number_of_day) SELECT uuid, 1, 1 FROM assets;
      INSERT INTO health_days (asset_uuid, day, interval_s, content, apps) SELECT uuid, 20000, 900, x'00ff06', x'00ff08' FROM assets;
      INSERT INTO device_health (asset_uuid, account_id, at, cpu_percent, recent, apps)
        SELECT uuid, account_id, 1728000900, 7, x'00ff07', x'00ff09' FROM assets;
      INSERT INTO users (id, account_id, email, email_key, name, role, created_at)
        VALUES ('usr_1', 'acc_fixture', 'A@b.c', 'a@b.c', 'A', 'admin', 1);
      INSERT INTO user_sessions (hash, id, user_id, created_at, last_used_at, method)
        VALUES (x'00ff02', 'ses_1', 'usr_1', 1, 1, 'setup');
      INSERT INTO browser_tokens (hash, user_id, created_at, last_used_at) VALUES (x'00ff04', 'usr_1', 1, 1);
      INSERT INTO one_time_codes (hash, purpose, user_id, created_at, expires_at)
        VALUES (x'00ff03', 'reset', 'usr_1', 1, 2);
      INSERT INTO agent_releases (version, digest, images, added_at) VALUES ('1.5.0', 'sha256:a', '[]', 1);
      INSERT INTO agent_release_parts (version, digest, bytes, media_type) VALUES ('1.5.0', 'sha256:b', 3, 'text/plain');
      INSERT INTO agent_release_pieces (digest, position, content) VALUES ('sha256:b', 0, x'00ff05');
      INSERT INTO uploads (account_id, sha256, bytes, is_complete, used_at) VALUES ('acc_fixture', 'ab', 3, 1, 5);
      INSERT INTO upload_pieces (account_id, sha256, position, content) VALUES ('acc_fixture', 'ab', 0, x'00ff06');
      INSERT INTO deployment_uploads (deployment_id, account_id, sha256) SELECT id, account_id, 'ab' FROM deployments LIMIT 1;
      ${FLEET_ROWS}
      ${ALERT_ROWS}`);
    sqlite.close();
    return prepared;
  }

  /** How many rows the tables have that are copied. */
  async function countsIn(database: string): Promise<Map<string, number>> {
    const counts = COPIED_TABLES.map(({ name }) => `SELECT '${name}', count(*) FROM ${name}`);
    const lines = (await server.execute(counts.join(" UNION ALL "), database)).split("\n");
    return new Map(lines.map((line) => [line.split("|")[0] ?? "", Number(line.split("|")[1])]));
  }

  test("every row is there, and unfinished ones have uncertain outcomes", async () => {
    const { database, name, copy } = await prepare();
    const copied = await copy();
    expect(copied?.map(({ table }) => table)).toEqual(COPIED_TABLES.map((each) => each.name));
    const sqlite = new DatabaseSync(database, { readOnly: true });
    onTestFinished(() => sqlite.close());
    const counts = await countsIn(name);
    for (const { table, rows } of copied ?? []) {
      if (table === "device_sessions") continue;
      expect(rows, table).toBe(sqlite.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);
      expect(counts.get(table), table).toBe(rows);
    }
    expect(counts.get("device_sessions")).toBe(counts.get("assets"));
    const unfinished = "SELECT count(*) FROM deployments WHERE status = 'Running'";
    expect(await server.execute(`${unfinished} AND uncertainty = 'backup'`, name)).toBe("1");
    expect(sqlite.prepare("SELECT count(*) AS n FROM deployments WHERE uncertainty = 'backup'").get()?.["n"]).toBe(0);
    // What the triggers counted is what the rows have.
    expect(
      await server.execute(
        `SELECT count(*) FROM accounts a WHERE asset_count <> (SELECT count(*) FROM assets WHERE account_id = a.id)
         OR coalesce((SELECT sum(stored_bytes) FROM account_bytes WHERE account_id = a.id), 0) <>
           coalesce((SELECT sum(deployment_bytes(spec, options, event_bytes)) FROM deployments WHERE account_id = a.id), 0)`,
        name,
      ),
    ).toBe("0");
    expect(readCopiedMark(database)).toMatchObject({ isComplete: true });
    expect(await copy()).toBeUndefined();
  });

  test("rows keep their values, and later ones get later numbers", async () => {
    const { name, copy } = await prepareFull();
    const copied = await copy();
    for (const { table, rows } of copied ?? []) expect(rows, table).toBeGreaterThan(0);
    expect(await server.execute("SELECT DISTINCT encode(hash, 'hex') FROM enrolment_codes", name)).toContain("00ff01");
    expect(await server.execute("SELECT DISTINCT epoch FROM device_sessions", name)).toBe("7");
    expect(await server.execute("SELECT DISTINCT encode(sealed, 'hex') FROM asset_variables", name)).toBe("01ff00");
    expect(await server.execute("SELECT encode(sealed, 'hex') FROM fleet_revisions", name)).toBe("01fe00");
    expect(await server.execute("SELECT DISTINCT pending || allowance_bytes || is_lost FROM sims", name)).toBe(
      '{"since":1}50000000001',
    );
    expect(await server.execute("SELECT DISTINCT bytes FROM sim_usage", name)).toBe("5000000000");
    const plan = "SELECT DISTINCT manual_allowance_bytes || plan_state || plan_until || '/' || plan_due_ms FROM sims";
    expect(await server.execute(plan, name)).toBe("6000000000spent3/4");
    const judged = "SELECT DISTINCT plan_used_bytes || '/' || plan_forecast_bytes || '/' || plan_as_of FROM sims";
    expect(await server.execute(judged, name)).toBe("7000000000/8000000000/5");
    expect(await server.execute("SELECT DISTINCT deployments FROM data_plan_settings", name)).toBe("wait");
    expect(await server.execute("SELECT id FROM sealing_keys WHERE is_current = 1", name)).toBe("key_a");
    expect(await server.execute("SELECT app FROM audit WHERE actor_id = 'k'", name)).toBe("n\u{FFFD}m");
    const next =
      "INSERT INTO audit SELECT nextval(pg_get_serial_sequence('audit', 'id')), account_id, at, actor_kind, actor_id, source, action, asset_uuid, app, outcome, details FROM audit LIMIT 1";
    await server.execute(next, name);
    expect(await server.execute("SELECT count(*) - count(DISTINCT id) FROM audit", name)).toBe("0");
    expect(
      await server.execute(
        "SELECT nextval(pg_get_serial_sequence('deployments', 'stored_seq')) > max(stored_seq) FROM deployments",
        name,
      ),
    ).toBe("t");
  });

  test("interrupted before each table, and taken up again: the result is the same", async () => {
    const { dataDir, database, name, to, url, copy } = await prepareFull();
    await using holder = await CommandClient.connect(to);
    const isWaiting = `datname = '${name}' AND wait_event_type = 'Lock'`;
    const waiting = async (): Promise<number> =>
      Number(await server.execute(`SELECT count(*) FROM pg_stat_activity WHERE ${isWaiting}`));
    let interruptions = 0;
    for (const { name: table } of COPIED_TABLES) {
      await holder.query("BEGIN");
      // The table can be read, and not written.
      await holder.query(`LOCK TABLE ${table} IN SHARE MODE`);
      const reachTable = () => waitFor(`the copy to wait for ${table}`, async () => (await waiting()) > 0);
      if (interruptions++ % KILL_EACH === 0) {
        await using child = start(process.execPath, [MAIN, "copy", "--from", dataDir, "--to", url]);
        await reachTable();
        child.kill("SIGKILL");
        await child.exited;
      } else {
        const copying = expect(copy()).rejects.toThrow();
        await reachTable();
        await server.execute(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${isWaiting}`);
        await copying;
      }
      await holder.query("ROLLBACK");
      await waitFor("the end of its connection", async () => (await waiting()) === 0);
      expect(readCopiedMark(database)).toMatchObject({ isComplete: false });
      expect(await server.execute("SELECT count(*) FROM copy_progress WHERE is_done = 1", name)).toBe(
        String(interruptions - 1),
      );
    }
    expect(interruptions).toBe(COPIED_TABLES.length);
    const { code, stderr } = await edgeControl("serve", "--listen", "127.0.0.1:0", "--database-url", url);
    expect([code, stderr]).toEqual([1, expect.stringContaining("incomplete copy; run edge-control copy again")]);
    const copied = await copyDatabase({ database, to, target: name });
    const other = await prepareFull();
    expect(copied).toEqual(await other.copy());
    expect(await copy()).toBeUndefined();
  });

  test("a directory that was copied is not served without --force", async () => {
    const { dataDir, url } = await prepare();
    const copied = await edgeControl("copy", "--from", dataDir, "--to", url);
    expect([copied.code, copied.stderr]).toEqual([0, ""]);
    expect(copied.stdout).toMatch(/^TABLE +ROWS +BYTES\naccounts +1 +\d+\n/);
    expect((await edgeControl("copy", "--from", dataDir, "--to", url)).stdout).toContain("before; nothing to do");
    const serving = ["serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir];
    const refused = await edgeControl(...serving);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("this one with --force")]);
    await using forced = start(process.execPath, [MAIN, ...serving, "--force"]);
    await forced.waitForOutput('"msg":"listening"');
  });

  test("a directory in use, a database that is not migrated, not empty, in use or has another copy are refused", async () => {
    const one = await prepare();
    const two = await prepare();
    await server.execute("INSERT INTO accounts (id, name, created_at) VALUES ('acc_x', 'x', 1)", two.name);
    await expect(two.copy()).rejects.toThrow("the database is not empty: it has rows in accounts");
    // It is the original still.
    expect(readCopiedMark(two.database)).toBeUndefined();
    await one.copy();
    await expect(copyDatabase({ database: two.database, to: one.to, target: one.name })).rejects.toThrow(
      "another data directory",
    );
    await expect(copyDatabase({ database: one.database, to: two.to, target: two.name })).rejects.toThrow(
      `copied to ${one.name} already`,
    );
    const bare = server.options(await server.createDatabase());
    await expect(copyDatabase({ database: two.database, to: bare, target: "bare" })).rejects.toThrow(
      "run edge-control migrate",
    );
    const used = await prepare();
    await server.execute(
      "INSERT INTO instances (id, version, started_at_ms, lease_until_ms) VALUES ('ins_a', '1', 1, 99999999999999)",
      used.name,
    );
    await expect(used.copy()).rejects.toThrow("in use by ins_a; stop every edge-control first");
    const served = await prepare();
    await using _server = start(process.execPath, [
      MAIN,
      "serve",
      "--listen",
      "127.0.0.1:0",
      "--data-dir",
      served.dataDir,
    ]);
    await _server.waitForOutput('"msg":"listening"');
    const { stderr } = await edgeControl("copy", "--from", served.dataDir, "--to", served.url);
    expect(stderr).toContain("stop it before copying");
  });

  test("a column that only one of the databases has is refused, not left out", async () => {
    const { name, copy } = await prepare();
    await server.execute("ALTER TABLE deployments DROP COLUMN wait_until_ms", name);
    await expect(copy()).rejects.toThrow("the database has no column wait_until_ms in deployments");
  });

  test("a difference is found", async () => {
    const { name, copy, to } = await prepareFull();
    await using client = await CommandClient.connect(to);
    // A change that a trigger of the operator's makes, for example.
    await client.query(
      `CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.reported_at = new.reported_at + 1; RETURN new; END $$`,
    );
    await client.query("CREATE TRIGGER change BEFORE INSERT ON device_reports FOR EACH ROW EXECUTE FUNCTION change()");
    await expect(copy()).rejects.toThrow("the copy of device_reports differs");
    expect(await server.execute("SELECT is_done FROM copy_state", name)).toBe("0");
  });
});
