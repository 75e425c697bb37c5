import { afterAll, beforeAll, describe } from "vitest";
import { postgresStoreOn } from "../../../src/control-plane/store/postgres/open-store.ts";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { SeededRandom } from "../../support/chaos/seeded-random.ts";
import { alternatingStore } from "../../support/control-plane/alternating-store.ts";
import { delayedStore } from "../../support/control-plane/delayed-store.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { storeContract } from "./store-contract.ts";

const reason = await postgresUnavailableReason();

describe.skipIf(reason !== undefined)(`PostgreSQL store${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  beforeAll(async () => {
    databases = await PostgresDatabases.start();
  });
  afterAll(() => databases[Symbol.asyncDispose]());

  const owned = new AsyncDisposableStack();
  afterAll(() => owned.disposeAsync());

  /** An empty database, and connections to it for so many stores. */
  const connect = async (count: number, poolMax?: number) => {
    const database = owned.use(await databases.take());
    const options = { ...database.options, poolMax };
    return { database, pools: Array.from({ length: count }, () => owned.use(new PostgresPool(options))) };
  };

  /**
   * Returns what opens stores on one empty database. Once the first of them is closed, their connections are used for other
   * stores: connecting takes longer than most tests.
   */
  const opener = (count: number, poolMax?: number): (() => Promise<Store[]>) => {
    const unused: Awaited<ReturnType<typeof connect>>[] = [];
    return async () => {
      const connected = unused.pop() ?? (await connect(count, poolMax));
      await connected.database.empty();
      const [first, ...others] = connected.pools.map(postgresStoreOn);
      return [{ ...first!, [Symbol.asyncDispose]: async () => void unused.push(connected) }, ...others];
    };
  };

  const openOne = opener(1);
  storeContract({ name: "PostgreSQL", open: async () => (await openOne())[0]! });

  const random = new SeededRandom(1);
  const delay = async (): Promise<void> => {
    for (let turns = random.between(0, 5); turns > 0; turns--) await Promise.resolve();
    if (!random.chance(0.3)) return;
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  };
  const openTwo = opener(2, 1);
  // As if the calls came late, and to one instance or the other. Nothing needs a second connection while it holds one.
  storeContract({
    name: "PostgreSQL, delayed, through two instances with one connection each",
    open: async () =>
      delayedStore(
        alternatingStore(await openTwo(), () => random.chance(0.5)),
        delay,
      ),
  });
});
