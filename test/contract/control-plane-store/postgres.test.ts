import { afterAll, beforeAll, describe } from "vitest";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
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

  /** Opens stores on one empty database, which is given back when the first of them is closed. */
  const openSeveral = async (count: number, poolMax?: number): Promise<Store[]> => {
    const database = await databases.take();
    const options = { ...database.options, poolMax };
    const stores = await Promise.all(Array.from({ length: count }, () => openPostgresStore(options)));
    const [first, ...others] = stores;
    const dispose = async (): Promise<void> => {
      for (const store of stores) await store[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    };
    return [{ ...first!, [Symbol.asyncDispose]: dispose }, ...others];
  };
  const open = async (poolMax?: number): Promise<Store> => (await openSeveral(1, poolMax))[0]!;

  storeContract({ name: "PostgreSQL", open });
  storeContract({ name: "PostgreSQL, with one connection", open: () => open(1) });

  const random = new SeededRandom(1);
  const delay = async (): Promise<void> => {
    for (let turns = random.between(0, 5); turns > 0; turns--) await Promise.resolve();
    if (!random.chance(0.3)) return;
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  };
  storeContract({
    name: "PostgreSQL, delayed and interleaved",
    open: async () => delayedStore(await open(), delay),
  });
  // As if the calls came to one instance or the other.
  storeContract({
    name: "PostgreSQL, through two instances",
    open: async () => alternatingStore(await openSeveral(2), () => random.chance(0.5)),
  });
});
