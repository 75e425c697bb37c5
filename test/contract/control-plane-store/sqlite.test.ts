import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { SeededRandom } from "../../support/chaos/seeded-random.ts";
import { delayedStore } from "../../support/control-plane/delayed-store.ts";
import { openSqliteStore } from "../../support/control-plane/sqlite-store.ts";
import { memoryDir } from "../../support/temp-dir.ts";
import { storeContract } from "./store-contract.ts";

let directory: Awaited<ReturnType<typeof memoryDir>>;
beforeAll(async () => {
  directory = await memoryDir();
});
afterAll(() => directory[Symbol.asyncDispose]());

let count = 0;
const open = (): Promise<Store> => openSqliteStore(join(directory.path, `${++count}.sqlite`));

storeContract({ name: "SQLite", open });

// Like a remote database: calls of different callers overtake each other.
for (const seed of [1, 2, 3]) {
  const random = new SeededRandom(seed);
  const delay = async (): Promise<void> => {
    for (let turns = random.between(0, 5); turns > 0; turns--) await Promise.resolve();
    if (!random.chance(0.3)) return;
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  };
  storeContract({
    name: `SQLite, delayed and interleaved by seed ${seed}`,
    open: async () => delayedStore(await open(), delay),
  });
}
