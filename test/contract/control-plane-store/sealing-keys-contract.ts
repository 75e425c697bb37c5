import { expect, test } from "vitest";
import { someAudit } from "../../support/control-plane/people.ts";
import { describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const sealedBy = (keyId: string) => ({ isSecret: true, keyId, sealed: Buffer.from(keyId) });

/** Contract of stores for the ids of the keys that values are sealed with. */
export function sealingKeysContract(harness: StoreHarness): void {
  describeDomain("sealing keys", harness, () => {
    test("the first key that is registered stays the current one", async () => {
      await using store = await harness.open();
      expect(await store.sealingKeys.findCurrent()).toBeUndefined();
      const ids = ["key_a", "key_b", "key_c"];
      const current = await Promise.all(ids.map((id) => store.sealingKeys.register(id, 1)));
      expect(new Set(current).size).toBe(1);
      expect(ids).toContain(current[0]);
      expect(await store.sealingKeys.findCurrent()).toBe(current[0]);
      expect(await store.sealingKeys.register(current[0] ?? "", 2)).toBe(current[0]);
    });

    test("a current key is replaced only while nothing is sealed; all keys in use are listed", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await store.sealingKeys.listUsed()).toEqual([]);
      expect(await store.sealingKeys.register("key_a", 1)).toBe("key_a");
      expect(await store.sealingKeys.registerOrReplaceUnused("key_b", 2)).toBe("key_b");
      const variables = new Map(["b", "c", "b", "d"].map((key, index) => [`V${index}`, sealedBy(`key_${key}`)]));
      await store.assetSettings.changeVariables(uuid, variables, false, someAudit("asset_variables.changed"));
      expect(await store.sealingKeys.listUsed()).toEqual(["key_b", "key_c", "key_d"]);
      expect(await store.sealingKeys.registerOrReplaceUnused("key_e", 3)).toBe("key_b");
    });

    test("a registered key takes the place of the current one, and only of that one", async () => {
      await using store = await harness.open();
      const { sealingKeys } = store;
      await sealingKeys.register("key_a", 1);
      expect(await sealingKeys.setCurrent("key_a", "key_b")).toBe(false);
      await sealingKeys.add("key_b", 2);
      await sealingKeys.add("key_b", 3);
      await sealingKeys.add("key_c", 4);
      expect(await sealingKeys.findCurrent()).toBe("key_a");
      expect(await sealingKeys.setCurrent("key_c", "key_b")).toBe(false);
      const results = await Promise.all(["key_b", "key_c"].map((to) => sealingKeys.setCurrent("key_a", to)));
      expect(results.filter(Boolean)).toHaveLength(1);
      const current = results[0] ? "key_b" : "key_c";
      expect(await sealingKeys.findCurrent()).toBe(current);
      expect(await sealingKeys.list()).toEqual(
        [["key_a", 1] as const, ["key_b", 2] as const, ["key_c", 4] as const].map(([id, createdAtMs]) => ({
          id,
          createdAtMs,
          isCurrent: id === current,
        })),
      );
    });

    test("only a key that is not current and seals nothing is removed", async () => {
      await using store = await openWithAccounts(harness);
      const { sealingKeys } = store;
      const { uuid } = await register(store, someAsset());
      await sealingKeys.register("key_a", 1);
      for (const id of ["key_b", "key_c"]) await sealingKeys.add(id, 2);
      const variables = new Map(["V1", "V2"].map((name) => [name, sealedBy("key_b")]));
      await store.assetSettings.changeVariables(uuid, variables, false, someAudit("asset_variables.changed"));
      expect(await sealingKeys.countUsed()).toEqual(new Map([["key_b", 2]]));
      const removed = [];
      for (const id of ["key_a", "key_b", "key_c", "key_d"]) removed.push(await sealingKeys.removeUnused(id));
      expect(removed).toEqual([false, false, true, false]);
      expect((await sealingKeys.list()).map(({ id }) => id)).toEqual(["key_a", "key_b"]);
    });
  });
}
