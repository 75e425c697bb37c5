import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backup } from "../../../../src/control-plane/data/backup.ts";
import { scrubDatabase } from "../../../../src/control-plane/data/scrub-database.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const VALUE = "planted-by-an-earlier-release";
let directory: Awaited<ReturnType<typeof tempDir>>;
let path: string;

beforeEach(async () => {
  directory = await tempDir();
  path = join(directory.path, "edge-control.sqlite");
  await using store = openStore(path);
  await store.accounts.createAccount({ id: "acc_1", name: "kept", createdAt: 1 });
});
afterEach(() => directory[Symbol.asyncDispose]());

/** Makes the database what an earlier release may have left. */
function leaveRemains(): void {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA application_id = 0; CREATE TABLE gone (text TEXT)");
  database.prepare("INSERT INTO gone VALUES (?)").run(VALUE + "q".repeat(9_000));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE); DROP TABLE gone");
  database.close();
}

const accounts = async (): Promise<string[]> => {
  await using store = openStore(path);
  return (await store.accounts.listAccounts()).map(({ name }) => name);
};

test("a database of an earlier release is rewritten once", async () => {
  leaveRemains();
  expect(readFileSync(path, "latin1")).toContain(VALUE);
  const log = captureLogText();
  scrubDatabase(path, log.logger);
  expect(readFileSync(path, "latin1")).not.toContain(VALUE);
  expect(log.text()).toContain("rewrote the database");
  const bytes = readFileSync(path);
  scrubDatabase(path, log.logger);
  expect(readFileSync(path)).toEqual(bytes);
  expect(await accounts()).toEqual(["kept"]);
});

test("a new one, and none at all, are left alone", () => {
  const log = captureLogText();
  const bytes = readFileSync(path);
  scrubDatabase(path, log.logger);
  scrubDatabase(join(directory.path, "none"), log.logger);
  expect([readFileSync(path), log.text()]).toEqual([bytes, ""]);
});

test("one that is too large is left as it is, and the log says how it is done by hand", async () => {
  leaveRemains();
  const log = captureLogText();
  scrubDatabase(path, log.logger, 10_000);
  expect(readFileSync(path, "latin1")).toContain(VALUE);
  expect(log.text()).toMatch(/was not rewritten.*edge-control backup/);
  // What it says does help: a backup holds nothing of it, and nothing is said once it has taken the database's place.
  const copy = join(directory.path, "copy.db");
  await backup(path, copy);
  expect(readFileSync(copy, "latin1")).not.toContain(VALUE);
  const quiet = captureLogText();
  scrubDatabase(copy, quiet.logger, 10_000);
  expect(quiet.text()).toBe("");
});
