import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { SeededRandom } from "../../support/chaos/seeded-random.ts";
import { delayedStore } from "../../support/control-plane/delayed-store.ts";
import { storeContract } from "./store-contract.ts";

const open = async () => openStore(":memory:");

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
