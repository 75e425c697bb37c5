import { expect, test } from "vitest";
import { describeDomain, type StoreHarness } from "./harness.ts";

/** Contract of stores for rights that one holder has at a time. */
export function leasesContract(harness: StoreHarness): void {
  describeDomain("leases", harness, () => {
    test("one holder has a lease at a time, until it lapses or is released, and its epoch increases with each holder", async () => {
      await using store = await harness.open();
      const { leases } = store;
      expect(await leases.acquire("dead-instances", "ins_1", 1_000, 2_000)).toBe(1);
      expect(await leases.acquire("dead-instances", "ins_2", 1_500, 2_500)).toBeUndefined();
      expect(await leases.acquire("dead-instances", "ins_1", 1_500, 2_500)).toBe(1);
      expect(await leases.acquire("dead-instances", "ins_2", 2_499, 4_000)).toBeUndefined();
      expect(await leases.acquire("dead-instances", "ins_2", 2_500, 4_000)).toBe(2);
      expect(await leases.acquire("dead-instances", "ins_1", 2_600, 5_000)).toBeUndefined();
      await leases.release("dead-instances", "ins_1");
      expect(await leases.acquire("dead-instances", "ins_1", 2_600, 5_000)).toBeUndefined();
      await leases.release("dead-instances", "ins_2");
      expect(await leases.acquire("dead-instances", "ins_1", 2_600, 5_000)).toBe(3);
    });

    test("a holder that was late takes its own lapsed lease again with the same epoch", async () => {
      await using store = await harness.open();
      expect(await store.leases.acquire("retention", "ins_1", 1_000, 2_000)).toBe(1);
      expect(await store.leases.acquire("retention", "ins_1", 9_000, 10_000)).toBe(1);
    });

    test("leases of different names do not exclude each other", async () => {
      await using store = await harness.open();
      expect(await store.leases.acquire("dead-instances", "ins_1", 1_000, 2_000)).toBe(1);
      expect(await store.leases.acquire("retention", "ins_2", 1_000, 2_000)).toBe(1);
    });

    test("of many that ask together one gets it", async () => {
      await using store = await harness.open();
      const asked = await Promise.all(
        Array.from({ length: 8 }, (_, index) => store.leases.acquire("dead-instances", `ins_${index}`, 1_000, 2_000)),
      );
      expect(asked.filter((epoch) => epoch !== undefined)).toEqual([1]);
    });
  });
}
