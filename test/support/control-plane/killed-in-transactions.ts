import type { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import type { Queryable } from "../../../src/control-plane/store/sql/postgres-executor.ts";
import { StoreUnavailableError } from "../../../src/control-plane/store/unavailable.ts";
import type { Fate } from "./failing-store.ts";

/**
 * The same connections for a process that is killed at a statement or a commit. What a transaction has written is rolled back
 * then, as the server does when its client is gone, unless the kill came after the commit.
 *
 * @param decide says what becomes of a statement, by its text, or of a commit: `COMMIT` with the last statement before it
 */
export function killedInTransactions(pool: PostgresPool, decide: (write: string) => Fate): PostgresPool {
  const run = async <T>(text: string, work: () => Promise<T>): Promise<T> => {
    const fate = decide(text);
    if (fate === "refused") throw new StoreUnavailableError("killed before a statement");
    const result = await work();
    if (fate === "result_lost") throw new StoreUnavailableError("killed after a statement");
    return result;
  };
  const guarded = (client: Queryable): Queryable => ({
    query: async (text, values) => run(text, () => client.query(text, values)),
  });
  const transaction = async <T>(work: (client: Queryable) => Promise<T>): Promise<T> => {
    let fate: Fate = "done";
    const result = await pool.transaction(async (client) => {
      let last = "";
      const noted = guarded(client);
      const done = await work({
        query: async (text, values) => {
          last = text;
          return noted.query(text, values);
        },
      });
      fate = decide(`COMMIT ${last}`);
      if (fate === "refused") throw new StoreUnavailableError("killed before a commit");
      return done;
    });
    if ((fate as Fate) === "result_lost") throw new StoreUnavailableError("killed after a commit");
    return result;
  };
  const methods = { ...guarded(pool), transaction };
  return new Proxy(pool, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
