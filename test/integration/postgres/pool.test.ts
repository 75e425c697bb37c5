import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { StoreUnavailableError } from "../../../src/control-plane/store/unavailable.ts";
import { PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();

describe.skipIf(reason !== undefined)(`PostgreSQL pool${reason === undefined ? "" : ` (${reason})`}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const openPool = async (poolMax?: number) =>
    new PostgresPool({ ...server.options(await server.createDatabase()), poolMax });

  test("reads 64-bit integers as numbers, and fails for those that no number holds", async () => {
    await using pool = await openPool();
    const read = (value: string) => pool.query("SELECT $1::bigint AS value", [value]);
    expect((await read("9007199254740991")).rows).toEqual([{ value: Number.MAX_SAFE_INTEGER }]);
    await expect(read("9007199254740992")).rejects.toThrow("9007199254740992, which is no safe integer");
    // The connection goes on.
    expect((await read("1")).rows).toEqual([{ value: 1 }]);
  });

  test("a transaction is stored as a whole, or not at all", async () => {
    await using pool = await openPool();
    await pool.query("CREATE TABLE t (n INTEGER PRIMARY KEY)");
    const failing = pool.transaction(async (client) => {
      await client.query("INSERT INTO t VALUES (1)");
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    await pool.transaction((client) => client.query("INSERT INTO t VALUES (2)"));
    expect((await pool.query("SELECT n FROM t")).rows).toEqual([{ n: 2 }]);
    const swallowed = pool.transaction(async (client) => {
      await client.query("INSERT INTO t VALUES (3)");
      await client.query("INSERT INTO t VALUES (3)").catch(() => {});
    });
    await expect(swallowed).rejects.toThrow("was not committed");
  });

  test("a transaction is repeated while others are in the way", async () => {
    await using pool = await openPool();
    await pool.query("CREATE TABLE t (n INTEGER)");
    let attempts = 0;
    await pool.transaction(async (client) => {
      await client.query("INSERT INTO t VALUES ($1)", [++attempts]);
      const state = ["40001", "40P01"][attempts - 1];
      if (state) await client.query(`DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '${state}'; END $$`);
    });
    expect((await pool.query("SELECT n FROM t")).rows).toEqual([{ n: 3 }]);
    const always = pool.transaction((client) =>
      client.query("DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '40001'; END $$"),
    );
    await expect(always).rejects.toThrow(StoreUnavailableError);
  });

  test("two transactions that wait for each other both come to their end", async () => {
    await using pool = await openPool();
    await pool.query("CREATE TABLE t (n INTEGER PRIMARY KEY, count INTEGER DEFAULT 0)");
    await pool.query("INSERT INTO t VALUES (1), (2)");
    let met = 0;
    const raise = (order: readonly number[]) =>
      pool.transaction(async (client) => {
        for (const n of order) {
          await client.query("UPDATE t SET count = count + 1 WHERE n = $1", [n]);
          met++;
          await waitFor("both to hold a row", () => met >= 2);
        }
      });
    await Promise.all([raise([1, 2]), raise([2, 1])]);
    expect((await pool.query("SELECT DISTINCT count FROM t")).rows).toEqual([{ count: 2 }]);
  });

  test("calls wait for the one connection of a pool, and fail when it stays in use", async () => {
    await using pool = await openPool(1);
    const results = await Promise.all([1, 2, 3].map((n) => pool.query("SELECT $1::int AS n", [n])));
    expect(results.map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
    await pool.transaction(async () => {
      await expect(pool.query("SELECT 1")).rejects.toThrow(StoreUnavailableError);
    });
    await pool.query("SELECT 1");
  });

  test("a commit is on disk when it is answered, whatever the defaults of the database are", async () => {
    const database = await server.createDatabase();
    const configured = async (value: string) => {
      await server.execute(`ALTER DATABASE ${database} SET synchronous_commit = ${value}`);
      await using pool = new PostgresPool(server.options(database));
      return (await pool.query<{ synchronous_commit: string }>("SHOW synchronous_commit")).rows[0]?.synchronous_commit;
    };
    expect(await configured("off")).toBe("on");
    expect(await configured("remote_apply")).toBe("remote_apply");
  });

  test("no statement is compiled, whatever the defaults of the database are", async () => {
    const database = await server.createDatabase();
    await server.execute(`ALTER DATABASE ${database} SET jit = on`);
    await using pool = new PostgresPool(server.options(database));
    expect((await pool.query("SHOW jit")).rows).toEqual([{ jit: "off" }]);
  });

  test("a server that is read-only is not used", async () => {
    const database = await server.createDatabase();
    await server.execute(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await using pool = new PostgresPool(server.options(database));
    await expect(pool.query("SELECT 1")).rejects.toThrow("the server is read-only");
    await server.execute(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
    await pool.query("SELECT 1");
  });
});

describe.skipIf(reason !== undefined)(
  `a PostgreSQL server that goes away${reason === undefined ? "" : ` (${reason})`}`,
  () => {
    test("fails calls as unavailable while it is down or paused, and serves again afterwards", async () => {
      await using server = await PostgresServer.start();
      await using pool = new PostgresPool(server.options(await server.createDatabase()));
      const call = () => pool.query("SELECT 1 AS n");
      await call();
      await server.stop();
      await expect(call()).rejects.toThrow(StoreUnavailableError);
      await server.restart();
      expect((await call()).rows).toEqual([{ n: 1 }]);

      const cut = pool.transaction(async (client) => {
        await client.query("SELECT 1");
        await server.stop("immediate");
        await client.query("SELECT 1");
      });
      await expect(cut).rejects.toThrow(StoreUnavailableError);
      await server.restart();
      await call();

      await server.pause();
      await expect(call()).rejects.toThrow(StoreUnavailableError);
      await server.resume();
      expect((await call()).rows).toEqual([{ n: 1 }]);
    });

    test("is reached with a password over TLS whose certificate is verified", async () => {
      await using server = await PostgresServer.start({ tls: true, password: "word" });
      const options = server.options(await server.createDatabase());
      await using pool = new PostgresPool(options);
      const { rows } = await pool.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
      expect(rows).toEqual([{ ssl: true }]);
      await using untrusting = new PostgresPool({ ...options, tls: {} });
      await expect(untrusting.query("SELECT 1")).rejects.toThrow("unable to verify");
      await using plain = new PostgresPool({ ...options, tls: undefined });
      await expect(plain.query("SELECT 1")).rejects.toThrow("no encryption");
      await using unknown = new PostgresPool({ ...options, passwordFile: undefined });
      await expect(unknown.query("SELECT 1")).rejects.toThrow(StoreUnavailableError);
    });
  },
);
