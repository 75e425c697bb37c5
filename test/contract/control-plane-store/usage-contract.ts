import fc from "fast-check";
import { expect, test } from "vitest";
import { periodOf } from "../../../src/control-plane/core/usage-period.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { UsageRecord } from "../../../src/control-plane/store/usage.ts";
import { type Granularity, granularitySchema } from "../../../src/protocol/assets/usage.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { recordsOf } from "../../support/control-plane/usage-records.ts";
import { describeDomain, openWithAccounts, register, someAsset, type StoreHarness, PROPERTY_RUNS } from "./harness.ts";

const UUID = "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";
const ICCID = "8988307001000000001";
const record = fc.record({
  iccid: fc.constant(ICCID),
  bucket: fc.constantFrom("a", "b"),
  startTime: fc.integer({ min: 1_767_225_600, max: 1_767_225_600 + 90 * 86_400 }),
  endTime: fc.constant(2_000_000_000),
  bytes: fc.integer({ min: 0, max: 2 ** 40 }),
});

/** The expected totals, summed record by record. */
function sums(records: readonly UsageRecord[], start: number, end: number, granularity: Granularity) {
  const unique = new Map(records.map((each) => [`${each.startTime} ${each.bucket}`, each]));
  const totals = new Map<string, { periodStart: number | undefined; bucket: string; bytes: number }>();
  for (const { startTime, bucket, bytes } of unique.values()) {
    if (startTime < start || startTime >= end) continue;
    const periodStart = granularity === "all" ? undefined : periodOf(startTime, granularity).start;
    const key = `${periodStart} ${bucket}`;
    totals.set(key, { periodStart, bucket, bytes: (totals.get(key)?.bytes ?? 0) + bytes });
  }
  return [...totals.values()].toSorted(
    (a, b) => (a.periodStart ?? 0) - (b.periodStart ?? 0) || (a.bucket < b.bucket ? -1 : 1),
  );
}

async function storeWithSim(harness: StoreHarness): Promise<Store> {
  const store = await openWithAccounts(harness);
  await register(store, someAsset({ uuid: UUID, supersim: someSuperSim({ iccid: ICCID }) }));
  return store;
}

/** Contract of stores for the usage of SIMs. */
export function usageContract(harness: StoreHarness): void {
  describeDomain("usage", harness, () => {
    test("sums by period and bucket equal those of the model, and a later record replaces an equal one", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(record, { maxLength: 40 }),
          fc.integer({ min: 0, max: 90 * 86_400 }),
          fc.integer({ min: 1, max: 90 * 86_400 }),
          fc.constantFrom(...granularitySchema.options),
          async (records, offset, length, granularity) => {
            await using store = await storeWithSim(harness);
            await store.usage.recordUsage(recordsOf(records));
            const start = 1_767_225_600 + offset;
            const found = await store.usage.sumUsage(ICCID, { start, end: start + length }, granularity);
            expect(found).toEqual(sums(records, start, start + length, granularity));
          },
        ),
        { numRuns: PROPERTY_RUNS },
      );
    });

    test("the same records again change nothing", async () => {
      await using store = await storeWithSim(harness);
      const records = [{ iccid: ICCID, bucket: "a", startTime: 0, endTime: 10, bytes: 5 }];
      expect(await store.usage.recordUsage(recordsOf(records))).toBe(1);
      expect(await store.usage.recordUsage(recordsOf([...records, ...records]))).toBe(0);
      const corrected = [{ iccid: ICCID, bucket: "a", startTime: 0, endTime: 10, bytes: 6 }];
      expect(await store.usage.recordUsage(recordsOf(corrected))).toBe(1);
      expect(await store.usage.sumUsage(ICCID, { start: 0, end: 100 }, "all")).toEqual([
        { bucket: "a", periodStart: undefined, bytes: 6 },
      ]);
    });

    test("a source that fails leaves nothing behind, and the store stays usable", async () => {
      await using store = await storeWithSim(harness);
      async function* failing(): AsyncGenerator<UsageRecord> {
        yield { iccid: ICCID, bucket: "a", startTime: 0, endTime: 10, bytes: 5 };
        throw new Error("cable cut");
      }
      await expect(store.usage.recordUsage(failing())).rejects.toThrow("cable cut");
      expect(await store.usage.sumUsage(ICCID, { start: 0, end: 100 }, "all")).toEqual([]);
      const records = [{ iccid: ICCID, bucket: "a", startTime: 0, endTime: 10, bytes: 7 }];
      expect(await store.usage.recordUsage(recordsOf(records))).toBe(1);
    });

    test("usage is removed with its asset: a later owner of the SIM does not see it", async () => {
      await using store = await storeWithSim(harness);
      await store.usage.recordUsage(recordsOf([{ iccid: ICCID, bucket: "a", startTime: 0, endTime: 10, bytes: 5 }]));
      await store.assets.removeAsset(UUID);
      expect(await store.sims.hasIccid(ICCID)).toBe(false);
      expect(await store.usage.sumUsage(ICCID, { start: 0, end: 100 }, "all")).toEqual([]);
      const orphan = [{ iccid: ICCID, bucket: "a", startTime: 0, endTime: 10, bytes: 5 }];
      expect(await store.usage.recordUsage(recordsOf(orphan))).toBe(0);
    });

    test("concurrent imports are each stored completely", async () => {
      await using store = await storeWithSim(harness);
      const source = (bucket: string) =>
        recordsOf(
          Array.from({ length: 20 }, (_, hour) => ({ iccid: ICCID, bucket, startTime: hour, endTime: 30, bytes: 1 })),
        );
      const stored = await Promise.all(["a", "b", "c"].map((bucket) => store.usage.recordUsage(source(bucket))));
      expect(stored).toEqual([20, 20, 20]);
      expect(await store.usage.sumUsage(ICCID, { start: 0, end: 100 }, "all")).toEqual(
        ["a", "b", "c"].map((bucket) => ({ bucket, periodStart: undefined, bytes: 20 })),
      );
    });
  });
}
