import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { PostgresExecutor, type QueryOutcome } from "../../../../src/control-plane/store/sql/postgres-executor.ts";
import { SqliteExecutor } from "../../../../src/control-plane/store/sql/sqlite-executor.ts";
import { change, one, type Work } from "../../../../src/control-plane/store/sql/statement.ts";

/** Adds a number to the stored one. */
function* add(number: number, fails = false): Work<number> {
  const { value } = (yield* one<{ value: number }>("SELECT value FROM total")) ?? { value: 0 };
  yield* change("UPDATE total SET value = ?", [value + number]);
  if (fails) throw new Error("given up");
  return value + number;
}

function openDatabase(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE total (value INTEGER NOT NULL) STRICT; INSERT INTO total VALUES (0)");
  return database;
}

test("SQLite: concurrent transactions are carried out one after the other, and one that throws changes nothing", async () => {
  using database = openDatabase();
  const executor = new SqliteExecutor(database);
  const results = [1, 2, 3].map(async (number) => executor.transact(() => add(number)));
  await expect(executor.transact(() => add(10, true))).rejects.toThrow("given up");
  expect(await Promise.all(results)).toEqual([1, 3, 6]);
  expect(await executor.all("SELECT value FROM total")).toEqual([{ value: 6 }]);
  expect(await executor.change("DELETE FROM total")).toBe(1);
  expect(await executor.one("SELECT value FROM total")).toBeUndefined();
});

test("PostgreSQL: statements of a transaction go to its connection, with numbered parameters, and a repetition starts anew", async () => {
  const sent: unknown[] = [];
  const connection = (name: string) => ({
    async query<Row>(text: string, values?: readonly unknown[]): Promise<QueryOutcome<Row>> {
      sent.push([name, text, values]);
      return { rows: [{ value: 4 }] as Row[], rowCount: 1 };
    },
  });
  const executor = new PostgresExecutor({
    ...connection("any"),
    async withConnection() {
      throw new Error("not used");
    },
    async transaction(work) {
      await work(connection("first"));
      return work(connection("second"));
    },
  });
  expect(await executor.transact(() => add(1))).toBe(5);
  expect(await executor.all("SELECT value FROM total WHERE value > ?1 OR value < ?1", [2])).toEqual([{ value: 4 }]);
  expect(sent).toEqual([
    ...["first", "second"].flatMap((name) => [
      [name, "SELECT value FROM total", []],
      [name, "UPDATE total SET value = $1", [5]],
    ]),
    ["any", "SELECT value FROM total WHERE value > $1 OR value < $1", [2]],
  ]);
});
