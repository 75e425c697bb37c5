import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  findSchemaError,
  knownSchemaVersion,
  migratePostgres,
} from "../../../src/control-plane/store/postgres/migrations.ts";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import { SCHEMA_STEPS, type SchemaStep } from "../../../src/control-plane/store/postgres/schema.ts";
import { PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";

const reason = await postgresUnavailableReason();
const latest = knownSchemaVersion();

/** The step of a later release. */
const later = (fields: Partial<SchemaStep> = {}): readonly SchemaStep[] => [
  ...SCHEMA_STEPS,
  { version: latest + 1, compatibleFrom: latest, sql: "ALTER TABLE assets ADD COLUMN colour TEXT", ...fields },
];

describe.skipIf(reason !== undefined)(`migrations of PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("an empty database is refused until it is migrated, by several at the same time once", async () => {
    const options = server.options(await server.createDatabase());
    await expect(openPostgresStore(options)).rejects.toThrow("the database has no schema; run edge-control migrate");
    const runs = await Promise.all([1, 2, 3].map(() => migratePostgres(options)));
    expect(runs.map(({ from }) => from).toSorted((a, b) => a - b)).toEqual([0, latest, latest]);
    await using store = await openPostgresStore(options);
    await store.check();
  });

  test("a migration that fails leaves the schema and its version as they were", async () => {
    const options = server.options(await server.createDatabase());
    await migratePostgres(options);
    const broken = later({ sql: "CREATE TABLE half (id TEXT); SELECT nonsense" });
    await expect(migratePostgres(options, broken)).rejects.toThrow("nonsense");
    expect(await server.execute("SELECT to_regclass('half') IS NULL", options.database)).toBe("t");
    expect(await migratePostgres(options, later())).toEqual({ from: latest, to: latest + 1 });
  });

  test("a later schema is served if it is compatible, and refused by name otherwise; it is never migrated back", async () => {
    const compatible = server.options(await server.createDatabase());
    await migratePostgres(compatible, later());
    await using store = await openPostgresStore(compatible);
    await store.check();
    expect(await migratePostgres(compatible)).toEqual({ from: latest + 1, to: latest + 1 });

    const newer = server.options(await server.createDatabase());
    await migratePostgres(newer, later({ compatibleFrom: latest + 1 }));
    const words = `schema version ${latest + 1}, this program knows up to ${latest}`;
    await expect(openPostgresStore(newer)).rejects.toThrow(words);
    await expect(migratePostgres(newer)).rejects.toThrow(words);
  });

  test("an earlier schema is refused until it is migrated", () => {
    expect(findSchemaError({ version: latest, compatibleFrom: 1 }, latest + 1)).toContain("run edge-control migrate");
    expect(findSchemaError({ version: latest, compatibleFrom: 1 })).toBeUndefined();
  });

  test("a database with another encoding is refused", async () => {
    await server.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'");
    await expect(migratePostgres(server.options("latin"))).rejects.toThrow("encoding LATIN1");
  });
});
