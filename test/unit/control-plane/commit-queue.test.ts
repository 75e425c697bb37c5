import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { CommitQueue } from "../../../src/control-plane/store/sqlite/commit-queue.ts";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** No sync is needed: another connection to the file sees what is committed. */
const IN_MEMORY = "/dev/shm";

const SCHEMA = /* sql */ `
  CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
  CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED
  ) STRICT;`;

function idsOf(connection: DatabaseSync): number[] {
  const rows = connection.prepare("SELECT id FROM entries ORDER BY id").all();
  return rows.map(({ id }) => Number(id));
}

async function setUp() {
  const owner = new AsyncDisposableStack();
  const folder = owner.use(await tempDir(IN_MEMORY)).path;
  const path = join(folder, "database");
  const database = owner.adopt(openSqlite(path, { migrations: [SCHEMA] }), (each) => {
    if (each.isOpen) each.close();
  });
  const other = owner.adopt(new DatabaseSync(path), (each) => each.close());
  const queue = new CommitQueue(database);
  const insert = database.prepare("INSERT INTO entries (id, text, parent) VALUES (?, ?, ?)");
  const exec = vi.spyOn(database, "exec");
  return {
    database,
    queue,
    add: (id: number, { text = "x", parent = null as number | null } = {}) =>
      queue.run(() => Number(insert.run(id, text, parent).lastInsertRowid)),
    insert: (id: number) => insert.run(id, "x", null),
    /** What is committed. */
    ids: () => idsOf(other),
    /** What a read of the service sees. */
    idsInService: () => idsOf(database),
    commits: () => exec.mock.calls.filter(([sql]) => sql === "COMMIT").length,
    exec,
    [Symbol.asyncDispose]: () => owner[Symbol.asyncDispose](),
  };
}

const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

test("operations of one turn share a transaction, and a read sees nothing of it before the commit", async () => {
  await using rig = await setUp();
  const added = [1, 2, 3].map((id) => rig.add(id));
  expect([rig.idsInService(), rig.ids(), rig.commits()]).toEqual([[], [], 0]);
  expect(await Promise.all(added)).toEqual([1, 2, 3]);
  expect([rig.ids(), rig.commits()]).toEqual([[1, 2, 3], 1]);
});

test("a lone operation waits for the end of the turn only", async () => {
  await using rig = await setUp();
  void rig.add(1);
  await turn();
  expect(rig.ids()).toEqual([1]);
});

test("an operation that throws is undone as a whole, and its neighbours are stored", async () => {
  await using rig = await setUp();
  const failing = rig.queue.run(() => {
    rig.insert(2);
    throw new Error("stale");
  });
  const duplicate = [rig.add(1), failing, rig.add(1), rig.add(3)];
  const results = await Promise.allSettled(duplicate);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  expect(results[1]).toMatchObject({ reason: new Error("stale") });
  expect([rig.ids(), rig.commits()]).toEqual([[1, 3], 1]);
});

test("if the commit fails, all of its operations fail, nothing is stored, and later ones succeed", async () => {
  await using rig = await setUp();
  // The parent is missed at the commit.
  const results = await Promise.allSettled([rig.add(1), rig.add(2, { parent: 9 }), rig.add(3)]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(results[0]).toMatchObject({ reason: { message: expect.stringContaining("FOREIGN KEY") } });
  expect(rig.ids()).toEqual([]);
  expect(await rig.add(1)).toBe(1);
  expect(rig.ids()).toEqual([1]);
});

test("if the transaction cannot begin, all of its operations fail", async () => {
  await using rig = await setUp();
  const added = [rig.add(1), rig.add(2)];
  rig.database.close();
  for (const { status } of await Promise.allSettled(added)) expect(status).toBe("rejected");
});

test("an error that ends the transaction inside an operation fails all of its operations", async () => {
  await using rig = await setUp();
  const ending = rig.queue.run(() => {
    rig.database.exec("ROLLBACK");
    throw new Error("disk I/O error");
  });
  const results = await Promise.allSettled([rig.add(1), ending, rig.add(3)]);
  for (const result of results) expect(result).toMatchObject({ reason: new Error("disk I/O error") });
  expect(rig.ids()).toEqual([]);
  expect(await rig.add(3)).toBe(3);
});

test("a transaction is bounded in operations and in time, and others get their turn in between", async () => {
  await using rig = await setUp();
  const results = Array.from({ length: 1_000 }, (_, id) => rig.add(id));
  const sizes = new Set<number>();
  let isDone = false;
  const look = (): void => {
    if (isDone) return;
    sizes.add(rig.ids().length);
    setImmediate(look);
  };
  setImmediate(look);
  expect(await Promise.all(results)).toEqual(Array.from({ length: 1_000 }, (_, id) => id));
  isDone = true;
  expect(rig.commits()).toBeGreaterThanOrEqual(4);
  // One look at least after each transaction but the last.
  expect(sizes.size).toBeGreaterThanOrEqual(3);

  const before = rig.commits();
  const slow = (id: number) =>
    rig.queue.run(() => {
      for (const start = performance.now(); performance.now() - start < 9;);
      return rig.insert(id);
    });
  await Promise.all([slow(2_000), slow(2_001), slow(2_002)]);
  expect(rig.commits() - before).toBe(3);
  expect(rig.ids().slice(-3)).toEqual([2_000, 2_001, 2_002]);
});

test("what need not be synced is synced with what must be", async () => {
  await using rig = await setUp();
  const unsynced = (id: number) => rig.queue.runUnsynced(() => rig.insert(id));
  const isUnsynced = () => rig.exec.mock.calls.some(([sql]) => sql === "PRAGMA synchronous = NORMAL");
  await Promise.all([unsynced(1), rig.add(2)]);
  expect(isUnsynced()).toBe(false);
  await Promise.all([unsynced(3), unsynced(4)]);
  expect(isUnsynced()).toBe(true);
  expect(rig.database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
  expect(rig.ids()).toEqual([1, 2, 3, 4]);
});

test("what waits is committed when the queue is disposed", async () => {
  await using rig = await setUp();
  const results = Array.from({ length: 600 }, (_, id) => rig.add(id));
  rig.queue[Symbol.dispose]();
  expect(rig.ids()).toHaveLength(600);
  rig.database.close();
  expect(await Promise.all(results)).toHaveLength(600);
});

test("property: what has resolved is committed by then, and what has rejected is not stored, also on a full disk", async () => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 30 }),
    kind: fc.constantFrom("add", "add", "add", "throw", "missing parent", "large", "unsynced"),
    turns: fc.integer({ min: 0, max: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      await using rig = await setUp();
      rig.database.exec("PRAGMA max_page_count = 12");
      const expected = new Set<number>();
      const settled: Promise<void>[] = [];
      for (const { id, kind, turns } of steps) {
        const text = kind === "large" ? "x".repeat(15_000) : "x";
        const operation =
          kind === "throw"
            ? rig.queue.run(() => {
                rig.insert(id);
                throw new Error("stale");
              })
            : kind === "unsynced"
              ? rig.queue.runUnsynced(() => rig.insert(id))
              : rig.add(id, { text, parent: kind === "missing parent" ? 1 : null });
        const check = async (): Promise<void> => {
          await operation;
          expect(rig.ids()).toContain(id);
          // An id is added once only: another attempt is refused.
          expect(expected.has(id)).toBe(false);
          expected.add(id);
        };
        settled.push(
          check().catch((error: unknown) => {
            if (error instanceof Error && "matcherResult" in error) throw error;
          }),
        );
        if (turns > 0) await turn();
      }
      await Promise.all(settled);
      expect(rig.ids()).toEqual([...expected].toSorted((a, b) => a - b));
    }),
    { numRuns: 60 },
  );
});
