import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openSnapshot } from "../../../src/lib/sqlite-snapshot.ts";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { waitFor } from "../../support/wait-for.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MIGRATIONS = ["CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"];
const PAGE_SIZE = 1024;

let directory: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  directory = await tempDir("/dev/shm");
});
afterEach(() => directory[Symbol.asyncDispose]());

const open = (path: string) => openSqlite(path, { migrations: MIGRATIONS, pageSize: PAGE_SIZE, isExclusive: true });

function contentOf(database: DatabaseSync): unknown {
  expect(database.prepare("PRAGMA quick_check").get()).toEqual({ quick_check: "ok" });
  // The log may end before it is made.
  if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'entries'").get()) return undefined;
  return database.prepare("SELECT id, text FROM entries ORDER BY id").all();
}

function snapshotOf(path: string): unknown {
  using snapshot = { database: openSnapshot(path), [Symbol.dispose]: () => snapshot.database.close() };
  return contentOf(snapshot.database);
}

describe("a snapshot of a database that its process has locked", () => {
  it("needs no lock, and leaves no file", () => {
    const path = join(directory.path, "a.db");
    const database = open(path);
    onTestFinished(() => database.close());
    database.exec("INSERT INTO entries (text) VALUES ('one')");
    expect(() => new DatabaseSync(path, { readOnly: true, timeout: 0 }).prepare("SELECT 1 FROM entries").get()).toThrow(
      "locked",
    );
    const [content, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
    expect(snapshotOf(path)).toEqual([{ id: 1, text: "one" }]);
    expect([readFileSync(path), readFileSync(`${path}-wal`)]).toEqual([content, log]);
    expect(existsSync(`${path}-shm`)).toBe(false);
  });

  it("is what SQLite reads from the same files, wherever the log is cut off or wrong", () => {
    const change = fc.record({
      kind: fc.constantFrom("insert", "insert", "replace", "delete", "checkpoint", "vacuum", "roll back"),
      length: fc.integer({ min: 0, max: 4_000 }),
    });
    const damage = fc.record({
      kind: fc.constantFrom("none", "cut", "wrong"),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    let runs = 0;
    const property = fc.property(fc.array(change, { minLength: 1, maxLength: 25 }), damage, (changes, { kind, at }) => {
      const [live, copy] = [join(directory.path, `live${++runs}.db`), join(directory.path, `copy${runs}.db`)];
      const database = open(live);
      for (const [index, { kind: what, length }] of changes.entries()) {
        const text = `${index} `.padEnd(length, "x");
        if (what === "insert") database.prepare("INSERT INTO entries (text) VALUES (?)").run(text);
        if (what === "replace") database.prepare("UPDATE entries SET text = ? WHERE id % 3 = 0").run(text);
        if (what === "delete") database.exec("DELETE FROM entries WHERE id % 4 = 1");
        if (what === "checkpoint") database.exec(`PRAGMA wal_checkpoint(${length % 2 === 0 ? "TRUNCATE" : "FULL"})`);
        if (what === "vacuum") database.exec("VACUUM");
        if (what === "roll back") database.exec("BEGIN; DELETE FROM entries; ROLLBACK");
      }
      const expected = contentOf(database);
      expect(snapshotOf(live)).toEqual(expected);
      for (const suffix of ["", "-wal"]) copyFileSync(live + suffix, copy + suffix);
      database.close();
      const log = readFileSync(`${copy}-wal`);
      if (kind === "cut") truncateSync(`${copy}-wal`, Math.floor(log.length * at));
      if (kind === "wrong" && log.length > 0) {
        const place = Math.floor((log.length - 1) * at);
        log[place] = (log[place] ?? 0) ^ 1;
        writeFileSync(`${copy}-wal`, log);
      }
      const found = snapshotOf(copy);
      const reference = new DatabaseSync(copy);
      try {
        expect(found).toEqual(contentOf(reference));
      } finally {
        reference.close();
      }
    });
    fc.assert(property, { numRuns: 60 });
  });

  it("is one commit's state at any moment of a busy writer, which checkpoints often", async () => {
    const path = join(directory.path, "busy.db");
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(WRITER, { eval: true, workerData: { path, stop } });
    const ended = Promise.withResolvers<void>();
    worker.once("error", ended.reject).once("exit", () => ended.resolve());
    await new Promise((resolve) => void worker.once("message", resolve));
    let last = 0;
    let differences = 0;
    try {
      for (let count = 0; count < 300; count++) {
        // This writer may leave no moment to read it.
        const snapshot = await waitFor("a snapshot", () => openSnapshot(path));
        expect(snapshot.prepare("PRAGMA quick_check").get()).toEqual({ quick_check: "ok" });
        const counts = snapshot.prepare("SELECT (SELECT n FROM one) AS one, (SELECT n FROM two) AS two").get() as {
          readonly one: number;
          readonly two: number;
        };
        snapshot.close();
        expect(counts.two).toBe(counts.one);
        expect(counts.one).toBeGreaterThanOrEqual(last);
        if (counts.one > last) differences++;
        last = counts.one;
      }
    } finally {
      Atomics.store(stop, 0, 1);
      await ended.promise;
    }
    expect(differences).toBeGreaterThan(10);
  });

  it("of a file that is no database fails with the first query, as SQLite does", () => {
    const path = join(directory.path, "no.db");
    writeFileSync(path, "this is no database".repeat(100));
    expect(() => contentOf(openSnapshot(path))).toThrow(expect.objectContaining({ errcode: 26 }));
  });
});

/** Two tables with the same number in every commit, far apart in the file. */
const WRITER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { DatabaseSync } = require("node:sqlite");
  const database = new DatabaseSync(workerData.path);
  database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 1024; PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 7");
  database.exec("CREATE TABLE one (n INTEGER); CREATE TABLE filler (text TEXT); CREATE TABLE two (n INTEGER)");
  database.exec("INSERT INTO one VALUES (0); INSERT INTO two VALUES (0)");
  for (let row = 0; row < 50; row++) database.exec("INSERT INTO filler VALUES (hex(zeroblob(400)))");
  parentPort.postMessage("ready");
  for (let count = 0; Atomics.load(workerData.stop, 0) === 0; count++) {
    database.exec("BEGIN; UPDATE one SET n = n + 1; UPDATE filler SET text = hex(randomblob(400)) WHERE rowid = " + (count % 50) + "; UPDATE two SET n = n + 1; COMMIT");
    if (count % 5 === 0) database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  database.close();
`;
