import { join } from "node:path";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { UsageStore } from "../../../src/control-plane/store/usage.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createAccount, createAsset } from "../control-plane.ts";
import { someSuperSim } from "../control-plane/sims.ts";
import { recordsOf } from "../control-plane/usage-records.ts";
import { tempDir } from "../temp-dir.ts";

export interface TestUsage extends AsyncDisposable {
  readonly store: UsageStore;
  /** Adds bytes from this time on. */
  add(bucket: string, time: number, bytes: number): Promise<void>;
}

/** A store of its own with an asset that has this SIM. */
export async function openTestUsage(iccid: string): Promise<TestUsage> {
  const directory = await tempDir();
  const store = openStore(join(directory.path, "test.db"));
  await createAsset(store, systemClock, await createAccount(store, systemClock), { supersim: someSuperSim({ iccid }) });
  return {
    store: store.usage,
    add: async (bucket, startTime, bytes) => {
      await store.usage.recordUsage(recordsOf([{ iccid, bucket, startTime, endTime: startTime + 3600, bytes }]));
    },
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
