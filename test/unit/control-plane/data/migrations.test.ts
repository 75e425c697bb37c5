import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MIGRATIONS } from "../../../../src/control-plane/store/sqlite/migrations.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { openSqlite } from "../../../../src/lib/sqlite.ts";
import { tempDir } from "../../../support/temp-dir.ts";

test("a database of an earlier version is brought up to date, and loses nothing", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "edge-control.sqlite");
  {
    await using store = openStore(path);
    await store.accounts.createAccount({ id: "acc_fixture", name: "Waterworks", createdAt: 1_790_000_000 });
  }
  const migrations = [
    ...MIGRATIONS,
    "ALTER TABLE accounts ADD COLUMN colour TEXT",
    "UPDATE accounts SET colour = 'blue'; CREATE INDEX accounts_by_colour ON accounts (colour)",
  ];
  using migrated = openSqlite(path, { migrations });
  expect(migrated.prepare("SELECT name, colour FROM accounts").all()).toEqual([{ name: "Waterworks", colour: "blue" }]);
  expect(migrated.prepare("PRAGMA user_version").get()).toEqual({ user_version: migrations.length });
  expect(migrated.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});

test("a migration that fails leaves the database as it was", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "edge-control.sqlite");
  openSqlite(path, { migrations: MIGRATIONS }).close();
  const migrations = [...MIGRATIONS, "CREATE TABLE half (id TEXT); SELECT nonsense"];
  expect(() => openSqlite(path, { migrations })).toThrow("nonsense");
  using after = openSqlite(path, { migrations: MIGRATIONS });
  expect(after.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'half'").get()).toBeUndefined();
});

test("a database of a newer version is refused and left alone", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "edge-control.sqlite");
  const newer = new DatabaseSync(path);
  newer.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  newer.close();
  expect(() => openStore(path)).toThrow(`schema version ${MIGRATIONS.length + 1}`);
  using after = new DatabaseSync(path);
  expect(after.prepare("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 });
});
