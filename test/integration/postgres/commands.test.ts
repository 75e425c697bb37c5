import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { knownSchemaVersion } from "../../../src/control-plane/store/postgres/migrations.ts";
import { start } from "../../support/command.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();
const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const latest = knownSchemaVersion();
const PASSWORD = "s3cret-of-the-database";

async function configFile(keys: object) {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const path = join(directory.path, "config.json");
  writeFileSync(path, JSON.stringify(keys));
  return { directory: directory.path, path };
}

/** Carries out what an operator does on an empty database, from its schema to the end of the service. */
async function operate(config: readonly string[]): Promise<void> {
  expect(await edgeControl("migrate", ...config)).toMatchObject({ code: 0, stderr: "" });
  const administer = async (...args: string[]) => {
    const { code, stdout, stderr } = await edgeControl(...args, ...config, "--json");
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout) as Record<string, string>;
  };
  const { account_id: account = "" } = await administer("account", "create", "Acme");
  await administer("restored");
  const listen = ["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
  await using serving = start(process.execPath, [MAIN, "serve", ...listen, ...config]);
  await serving.waitForOutput('"msg":"listening"');
  const { port } = JSON.parse(/.*"msg":"listening".*/.exec(serving.stdout())?.[0] ?? "{}") as { port: number };
  const key = await administer("key", "create", "--account", account, "--name", "ops");
  await administer("asset", "add", "--account", account, "--serial-number", "GW-1");
  const get = () =>
    fetch(`http://127.0.0.1:${port}/v1/assets/GW-1`, { headers: { "X-API-Key": key["api_key"] ?? "" } });
  expect((await get()).status).toBe(200);
  await administer("key", "revoke", key["key_id"] ?? "");
  expect((await get()).status).toBe(401);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  serving.kill("SIGTERM");
  expect(await serving.exited).toBe(0);
  expect(serving.stdout()).not.toMatch(/"level":(?:40|50|60)/);
}

describe.skipIf(reason !== undefined)(`commands on PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start({ tls: true, password: PASSWORD });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A configuration file for a new, empty database, to which the connection is encrypted and verified. */
  async function configure(keys: object = {}) {
    const name = await server.createDatabase();
    const { directory, path } = await configFile({
      database_url: `postgres://postgres@127.0.0.1:${server.port}/${name}`,
      database_password_file: server.options(name).passwordFile,
      database_ca_file: server.caFile,
      ...keys,
    });
    return { name, directory, config: ["--config", path] };
  }

  test("migrate says from which version to which, and later that there is nothing to do", async () => {
    const { name, config } = await configure();
    const place = `the database ${name} at 127.0.0.1:${server.port}`;
    expect(await edgeControl("migrate", ...config)).toMatchObject({
      code: 0,
      stdout: `migrated ${place} from schema version 0 to ${latest}\n`,
      stderr: "",
    });
    expect((await edgeControl("migrate", ...config)).stdout).toBe(
      `${place} has schema version ${latest}; nothing to do\n`,
    );
    expect(JSON.parse((await edgeControl("migrate", ...config, "--json")).stdout)).toEqual({
      from: latest,
      to: latest,
    });
  });

  test("a second migrate at the same time waits, and then has nothing to do", async () => {
    const { name, config } = await configure();
    const runs = await Promise.all([1, 2, 3].map(() => edgeControl("migrate", ...config)));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(runs.filter(({ stdout }) => stdout.includes("migrated"))).toHaveLength(1);
    expect(runs.filter(({ stdout }) => stdout.includes("nothing to do"))).toHaveLength(2);
    expect(await server.execute("SELECT version FROM schema_version", name)).toBe(String(latest));
  });

  test("migrate has nothing to do for SQLite", async () => {
    const { code, stdout } = await edgeControl("migrate");
    expect([code, stdout]).toEqual([0, "nothing to do: `serve` migrates the data directory data\n"]);
  });

  test("serve and administration refuse an older schema with the command to run, and a newer one with a word", async () => {
    const { name, config } = await configure();
    const commands = [
      ["serve", "--listen", "127.0.0.1:0"],
      ["account", "list"],
    ];
    for (const command of commands) {
      const { code, stderr } = await edgeControl(...command, ...config);
      expect([code, stderr]).toEqual([1, "edge-control: the database has no schema; run edge-control migrate\n"]);
    }
    await edgeControl("migrate", ...config);
    await server.execute(`UPDATE schema_version SET version = ${latest + 1}, compatible_from = ${latest + 1}`, name);
    for (const command of [...commands, ["migrate"], ["restored"]]) {
      const { code, stderr } = await edgeControl(...command, ...config);
      const words = `the database has schema version ${latest + 1}, this program knows up to ${latest}; run a newer release`;
      expect([code, stderr]).toEqual([1, `edge-control: ${words}\n`]);
    }
  });

  test("backup and restore name what to use in their place", async () => {
    const { config, directory } = await configure();
    for (const command of ["backup", "restore"]) {
      const { code, stderr } = await edgeControl(command, join(directory, "file"), ...config);
      expect([code, stderr]).toEqual([1, expect.stringContaining("pg_dump")]);
    }
  });

  test("restored marks what is unfinished, once nothing serves the database", async () => {
    const { name, config } = await configure();
    await edgeControl("migrate", ...config);
    const insert = (id: string, status: string) =>
      server.execute(
        `INSERT INTO deployments (id, account_id, asset_uuid, app, action, spec, options, status, created_at_ms, deadline_at_ms)
         VALUES ('${id}', 'a', 'u', 'web', 'deploy', '{}', '{}', '${status}', 1, 2)`,
        name,
      );
    await insert("dep_1", "Running");
    await insert("dep_2", "Success");
    await server.execute("INSERT INTO instances VALUES ('ins_a', '1', 1, 99999999999999)", name);
    expect((await edgeControl("restored", ...config)).stderr).toContain(
      "in use by ins_a; stop every edge-control first",
    );
    await server.execute("UPDATE instances SET lease_until_ms = 1", name);
    expect((await edgeControl("restored", ...config)).stdout).toContain(
      "marked 1 unfinished deployment in the database",
    );
    expect(await server.execute("SELECT id, uncertainty, version FROM deployments ORDER BY id", name)).toBe(
      "dep_1|backup|2\ndep_2||1",
    );
  });

  test("restored and copy are for PostgreSQL only", async () => {
    const { code, stderr } = await edgeControl("restored");
    expect([code, stderr]).toEqual([1, expect.stringContaining("names no PostgreSQL database")]);
  });

  async function failures(keys: object, reasonText: RegExp): Promise<void> {
    const { config } = await configure(keys);
    for (const command of [["migrate"], ["account", "list"], ["serve", "--listen", "127.0.0.1:0"]]) {
      const { code, stdout, stderr } = await edgeControl(...command, ...config);
      expect([code, stderr]).toEqual([1, expect.stringMatching(reasonText)]);
      expect(stdout + stderr).not.toMatch(/s3cret|n0t-the/);
    }
  }

  describe("the reason is said, the password is not", () => {
    test("a wrong password", async () => {
      const { directory } = await configFile({});
      const wrong = join(directory, "password");
      writeFileSync(wrong, "n0t-the-password");
      await failures({ database_password_file: wrong }, /cannot be reached: password authentication failed/);
    });

    test("a certificate of another authority", async () => {
      await using other = await PostgresServer.start({ tls: true });
      await failures({ database_ca_file: other.caFile }, /cannot be reached: .*certificate/);
    });

    test("no TLS", async () => {
      await failures({ database_ca_file: undefined, database_tls: "off" }, /cannot be reached: no pg_hba.conf entry/);
    });

    test("no server", async () => {
      await failures({ database_url: "postgres://postgres@127.0.0.1:1/edge" }, /cannot be reached: .*ECONNREFUSED/);
    });
  });

  test("the service and its administration work on it", async () => operate((await configure()).config));

  test("they work with exactly the rights that the documentation gives to their user", async () => {
    const documentation = readFileSync(join(import.meta.dirname, "../../../docs/service-scaling.md"), "utf8");
    const [, sql = ""] = /```sql\n([\s\S]*?)```/.exec(documentation) ?? [];
    const statements = sql.replace("'…'", `'${PASSWORD}'`).split(";\n");
    for (const statement of statements.filter((each) => each.trim() !== "")) await server.execute(statement);
    expect(await server.execute("SELECT rolsuper FROM pg_roles WHERE rolname = 'edge_control'")).toBe("f");
    const { config } = await configure({
      database_url: `postgres://edge_control@127.0.0.1:${server.port}/edge_control`,
    });
    await operate(config);
  });

  test("the password is in no process title, environment or argument", async () => {
    const { name, config } = await configure();
    await edgeControl("migrate", ...config);
    // Waits for the lock of migrations.
    await using holder = start(
      "psql",
      ["--no-psqlrc", "--command", "BEGIN; LOCK schema_version; SELECT pg_sleep(60)"],
      {
        env: {
          PGHOST: "127.0.0.1",
          PGPORT: String(server.port),
          PGUSER: "postgres",
          PGDATABASE: name,
          PGPASSWORD: PASSWORD,
        },
      },
    );
    const locked = () =>
      server.execute("SELECT count(*) FROM pg_locks WHERE relation = 'schema_version'::regclass", name);
    await waitFor("the lock", async () => Number(await locked().catch(() => "1")) > 0);
    await using child = start(process.execPath, [MAIN, "account", "list", ...config]);
    await waitFor(
      "its connection",
      async () =>
        Number(
          await server.execute(
            `SELECT count(*) FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'edge-control'`,
          ),
        ) > 0,
    );
    for (const file of ["cmdline", "environ", "comm"]) {
      expect(readFileSync(`/proc/${child.pid}/${file}`, "utf8")).not.toContain(PASSWORD);
    }
    holder.kill("SIGKILL");
  });
});
