import { chmod, copyFile, readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { backup, backupInto } from "../../../../src/control-plane/data/backup.ts";
import { restore } from "../../../../src/control-plane/data/restore.ts";
import { MIGRATIONS } from "../../../../src/control-plane/store/sqlite/migrations.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { someAudit, someCode, someSession, someUser } from "../../../support/control-plane/people.ts";
import { tempDir } from "../../../support/temp-dir.ts";

let directory: Awaited<ReturnType<typeof tempDir>>;
let database: string;
let copy: string;

beforeEach(async () => {
  directory = await tempDir();
  database = join(directory.path, "edge-control.sqlite");
  copy = join(directory.path, "backup.db");
  await addAccount("acc_1");
});
afterEach(() => directory[Symbol.asyncDispose]());

async function addAccount(id: string): Promise<void> {
  await using store = openStore(database);
  await store.accounts.createAccount({ id, name: id, createdAt: 1 });
}

/** A time, and the name of a backup that is made then. */
const at = (day: number): number => Date.UTC(2026, 10, day, 3, 4, 5, 678);
const nameOf = (day: number): string => `edge-control-2026-11-${day}T03-04-05Z.db`;

async function accounts(path = database): Promise<string[]> {
  await using store = openStore(path);
  return (await store.accounts.listAccounts()).map(({ id }) => id);
}

describe("backup", () => {
  test("is complete while a server has the database open and writes to it", async () => {
    await using store = openStore(database);
    await store.accounts.createAccount({ id: "acc_2", name: "2", createdAt: 2 });
    await backup(database, copy);
    await store.accounts.createAccount({ id: "acc_3", name: "3", createdAt: 3 });
    expect(await accounts(copy)).toEqual(["acc_1", "acc_2"]);
  });

  test("is one file for its owner's eyes, and leaves nothing else behind", async () => {
    await backup(database, copy);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    expect((await readdir(directory.path)).toSorted()).toEqual(["backup.db", "edge-control.sqlite"]);
  });

  test("replaces an older backup", async () => {
    await backup(database, copy);
    await addAccount("acc_2");
    await backup(database, copy);
    expect(await accounts(copy)).toEqual(["acc_1", "acc_2"]);
  });

  test("into a directory it is named after the time, and the newest ones stay", async () => {
    const into = join(directory.path, "backups");
    for (const day of [20, 21, 22]) await backupInto(database, into, 2, at(day));
    expect((await readdir(into)).toSorted()).toEqual([nameOf(21), nameOf(22)]);
    // By a clock that was set back.
    await writeFile(join(into, "by-hand.db"), "");
    expect(await backupInto(database, into, 1, at(19))).toBe(join(into, nameOf(19)));
    expect((await readdir(into)).toSorted()).toEqual(["by-hand.db", nameOf(19)]);
    expect(await accounts(join(into, nameOf(19)))).toEqual(["acc_1"]);
  });

  test("an older backup survives one that fails", async () => {
    await backup(database, copy);
    const before = await readFile(copy);
    await damage(database);
    await expect(backup(database, copy)).rejects.toThrow(Error);
    expect(await readFile(copy)).toEqual(before);
    expect((await readdir(directory.path)).filter((name) => name.includes("unfinished"))).toEqual([]);
  });

  test("does not overwrite the database with itself, by whatever name", async () => {
    const link = join(directory.path, "link.db");
    await symlink(database, link);
    for (const target of [database, link]) {
      await expect(backup(database, target)).rejects.toThrow("is the database itself");
    }
    expect(await accounts()).toEqual(["acc_1"]);
  });

  test("says when there is no database, and when the target cannot be written", async () => {
    await expect(backup(join(directory.path, "none"), copy)).rejects.toThrow("there is no database");
    await expect(backup(database, join(directory.path, "no", "such", "place"))).rejects.toThrow("ENOENT");
  });
});

describe("restore", () => {
  test("brings back no session and no unused code: they may have been ended since", async () => {
    const user = someUser();
    {
      await using store = openStore(database);
      const audit = someAudit("user.created");
      const invitation = { code: someCode("invitation", user), hash: Buffer.from("code") };
      await store.users.createUser(user, invitation, audit);
      const session = someSession(user);
      await store.userSessions.openSession({ session, hash: Buffer.from("s"), user, replaces: undefined, audit });
      await store.browsers.remember(user.id, Buffer.from("b"), 1_000);
    }
    await backup(database, copy);
    await restore(copy, database, ".replaced");
    await using store = openStore(database);
    expect(await store.users.findUser(user.id)).toMatchObject({ email: user.email });
    expect(await store.userSessions.findSession(Buffer.from("s"))).toBeUndefined();
    expect(await store.browsers.isKnown(user.id, Buffer.from("b"), 1_000)).toBe(false);
    expect(await store.users.findCode(Buffer.from("code"))).toBeUndefined();
  });

  test("puts the backup in place and keeps what it replaces, the log included", async () => {
    await backup(database, copy);
    // Left open by a process that was killed: the last account stands in the log alone.
    const store = openStore(database);
    await store.accounts.createAccount({ id: "acc_late", name: "late", createdAt: 9 });
    const crashed = join(directory.path, "crashed.sqlite");
    for (const ending of ["", "-wal", "-shm"]) await copyFile(database + ending, crashed + ending);
    await store[Symbol.asyncDispose]();

    const kept = await restore(copy, crashed, ".replaced-x");
    expect(kept).toBe(`${crashed}.replaced-x`);
    expect(await accounts(crashed)).toEqual(["acc_1"]);
    expect(await accounts(kept)).toEqual(["acc_1", "acc_late"]);
    expect((await stat(crashed)).mode & 0o777).toBe(0o600);
  });

  test("of the databases that were replaced the newest two stay, and the one that is restored", async () => {
    await backup(database, copy);
    const replaced: string[] = [];
    for (let day = 1; day < 5; day++) {
      const source = day === 4 ? (replaced[1] ?? "") : copy;
      replaced.push((await restore(source, database, `.replaced-2026-11-0${day}T00-00-00.000Z`)) ?? "");
      if (day === 1) await addAccount("acc_2");
    }
    const names = (await readdir(directory.path)).filter((name) => name.includes("replaced"));
    expect(names.toSorted()).toEqual(
      [2, 3, 4].map((day) => `edge-control.sqlite.replaced-2026-11-0${day}T00-00-00.000Z`),
    );
  });

  test("into an empty directory there is nothing to keep", async () => {
    await backup(database, copy);
    const elsewhere = join(directory.path, "new.sqlite");
    expect(await restore(copy, elsewhere, ".replaced-x")).toBeUndefined();
    expect(await accounts(elsewhere)).toEqual(["acc_1"]);
  });

  test("replaces a damaged database, which is kept", async () => {
    await backup(database, copy);
    await damage(database);
    const kept = await restore(copy, database, ".replaced-x");
    expect(await accounts()).toEqual(["acc_1"]);
    expect((await stat(kept ?? "")).size).toBeGreaterThan(0);
  });

  test.each([
    ["a text file", (path: string) => writeFile(path, "not a database ".repeat(1000))],
    ["an empty file", (path: string) => writeFile(path, "")],
    ["another program's database", async (path: string) => otherDatabase(path)],
    ["a database of a newer version", (path: string) => newerDatabase(path)],
    ["a damaged backup", async (path: string) => damage(path)],
    ["half a backup", (path: string) => truncate(path, 20_000)],
  ])("refuses %s, and nothing has changed", async (_what, spoil) => {
    await backup(database, copy);
    await spoil(copy);
    const before = (await readdir(directory.path)).toSorted();
    await expect(restore(copy, database, ".replaced-x")).rejects.toThrow("cannot be used");
    expect(await accounts()).toEqual(["acc_1"]);
    expect((await readdir(directory.path)).toSorted()).toEqual(before);
  });

  test("takes a backup that may only be read", async () => {
    await backup(database, copy);
    await chmod(copy, 0o400);
    await addAccount("acc_2");
    await restore(copy, database, ".replaced-x");
    expect(await accounts()).toEqual(["acc_1"]);
    await addAccount("acc_3");
  });
});

/** Overwrites pages in the middle of a database, as a failing disk might. */
async function damage(path: string): Promise<void> {
  const content = await readFile(path);
  content.fill(0x5a, 4096 * 2, 4096 * 12);
  await writeFile(path, content);
}

async function otherDatabase(path: string): Promise<void> {
  await writeFile(path, "");
  using other = new DatabaseSync(path);
  other.exec("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 1");
}

async function newerDatabase(path: string): Promise<void> {
  using newer = new DatabaseSync(path);
  newer.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
}
