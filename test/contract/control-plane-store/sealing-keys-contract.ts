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
  });
}
