import { expect, test } from "vitest";
import type { StoredCredentials } from "../../../src/control-plane/store/sim-credentials.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
  TWO_ACCOUNTS,
} from "./harness.ts";

const STRANGER = TWO_ACCOUNTS[1];

const credentials = (fields: Partial<StoredCredentials> = {}): StoredCredentials => ({
  accountId: ACCOUNT,
  type: "supersim",
  changedAtMs: 5_000_000_000_000,
  keyId: "key_a",
  sealed: Uint8Array.of(1, 0, 255),
  ...fields,
});

const plain = (found: StoredCredentials | undefined) => found && { ...found, sealed: [...found.sealed] };

/** Contract of stores for the accounts' own credentials at SIM operators. */
export function simCredentialsContract(harness: StoreHarness): void {
  describeDomain("credentials at SIM operators", harness, () => {
    test("they are of one account and type, and replaced as a whole", async () => {
      await using store = await openWithAccounts(harness);
      const { simCredentials } = store;
      expect(await simCredentials.findCredentials(ACCOUNT, "supersim")).toBeUndefined();
      expect(await simCredentials.setCredentials(credentials({ accountId: STRANGER }))).toBe(true);
      expect(await simCredentials.setCredentials(credentials())).toBe(true);
      expect(await simCredentials.setCredentials(credentials({ type: "prosim" }))).toBe(true);
      const later = credentials({ changedAtMs: 7, keyId: "key_b", sealed: Uint8Array.of(2) });
      expect(await simCredentials.setCredentials(later)).toBe(true);
      expect(plain(await simCredentials.findCredentials(ACCOUNT, "supersim"))).toEqual(plain(later));
      expect((await simCredentials.listCredentials()).map(plain)).toEqual(
        [credentials({ type: "prosim" }), later, credentials({ accountId: STRANGER })].map(plain),
      );
      expect(await simCredentials.listTypes()).toEqual(["prosim", "supersim"]);
      expect(await simCredentials.removeCredentials(ACCOUNT, "supersim", 1)).toBe(true);
      expect(await simCredentials.removeCredentials(ACCOUNT, "supersim", 1)).toBe(false);
      expect(await simCredentials.findCredentials(ACCOUNT, "supersim")).toBeUndefined();
      expect(await simCredentials.listCredentials()).toHaveLength(2);
    });

    test("with others, or none any more, the account's SIMs of the type are due at once", async () => {
      await using store = await openWithAccounts(harness);
      const { simCredentials, sims } = store;
      const mine = await register(store, someAsset({ supersim: someSuperSim(), prosim: someProSim() }));
      const strange = await register(store, someAsset({ accountId: STRANGER, supersim: someSuperSim() }));
      const postpone = async (): Promise<void> => {
        for (const { uuid } of [mine, strange]) await sims.postponeCheck(uuid, "supersim", 9_000);
        await sims.postponeCheck(mine.uuid, "prosim", 9_000);
      };
      const due = async (nowMs: number) =>
        (await sims.listDueSims(["supersim", "prosim"], nowMs, 10)).map(({ asset, type }) => [asset.uuid, type]);
      await postpone();
      await simCredentials.setCredentials(credentials({ changedAtMs: 2_000 }));
      expect(await due(1_999)).toEqual([]);
      expect(await due(2_000)).toEqual([[mine.uuid, "supersim"]]);
      await postpone();
      await simCredentials.removeCredentials(ACCOUNT, "supersim", 3_000);
      expect(await due(3_000)).toEqual([[mine.uuid, "supersim"]]);
      await postpone();
      await simCredentials.removeCredentials(ACCOUNT, "supersim", 4_000);
      expect(await due(8_999)).toEqual([]);
    });

    test("an account that is not there has none", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.simCredentials.setCredentials(credentials({ accountId: "acc_none" }))).toBe(false);
      expect(await store.simCredentials.listCredentials()).toEqual([]);
    });

    test("those of other keys are sealed again, unless they were changed meanwhile", async () => {
      await using store = await openWithAccounts(harness);
      const { simCredentials } = store;
      for (const [index, type] of (["supersim", "prosim"] as const).entries())
        await simCredentials.setCredentials(credentials({ type, keyId: `key_${"ac"[index]}` }));
      const typesNotOf = async (keyId: string, limit = 10) =>
        (await simCredentials.listCredentialsNotSealedBy(keyId, limit)).map(({ type }) => type).toSorted();
      expect(await typesNotOf("key_b")).toEqual(["prosim", "supersim"]);
      expect(await typesNotOf("key_b", 1)).toHaveLength(1);
      const { sealed } = credentials();
      const after = { keyId: "key_b", sealed: Uint8Array.of(9) };
      expect(await simCredentials.resealCredentials(ACCOUNT, "supersim", Uint8Array.of(3), after)).toBe(false);
      expect(await simCredentials.resealCredentials(ACCOUNT, "supersim", sealed, after)).toBe(true);
      expect(await typesNotOf("key_b")).toEqual(["prosim"]);
      expect((await simCredentials.findCredentials(ACCOUNT, "supersim"))?.changedAtMs).toBe(5_000_000_000_000);
    });

    test("the key that seals them is in use", async () => {
      await using store = await openWithAccounts(harness);
      const { sealingKeys, simCredentials } = store;
      await sealingKeys.register("key_a", 1);
      for (const id of ["key_b", "key_c"]) await sealingKeys.add(id, 2);
      await simCredentials.setCredentials(credentials({ keyId: "key_b" }));
      expect(await sealingKeys.listUsed()).toEqual(["key_b"]);
      expect(await sealingKeys.countUsed()).toEqual(new Map([["key_b", 1]]));
      expect(await sealingKeys.removeUnused("key_b")).toBe(false);
      expect(await sealingKeys.removeUnused("key_c")).toBe(true);
      expect(await sealingKeys.registerOrReplaceUnused("key_d", 3)).toBe("key_a");
    });
  });
}
