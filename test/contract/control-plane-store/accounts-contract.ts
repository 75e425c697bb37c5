import { expect, test } from "vitest";
import { ACCOUNT, describeDomain, hash, openWithAccounts, type StoreHarness, TWO_ACCOUNTS } from "./harness.ts";

const keyOf = (id: string, accountId: string = ACCOUNT, createdAt = 1) => ({
  id,
  accountId,
  name: id,
  createdAt,
  lastUsedAt: undefined,
  revokedAt: undefined,
  permissions: ["apps.exec"] as const,
  role: "operator" as const,
  expiresAt: 1_000,
  createdBy: "usr_1",
});

const auditEntryOf = (accountId: string, at: number, action: string) => ({
  accountId,
  at,
  actor: { kind: "key" as const, id: "key_1" },
  source: undefined,
  action,
  assetUuid: "asset",
  app: "web",
  outcome: "ok",
  details: { port: 80 },
});

/** Contract of stores for accounts, keys and network groups. */
export function accountsContract(harness: StoreHarness): void {
  describeDomain("accounts", harness, () => {
    test("are listed in order of creation", async () => {
      await using store = await harness.open();
      await store.accounts.createAccount({ id: "acc_b", name: "later", createdAt: 2 });
      await store.accounts.createAccount({ id: "acc_a", name: "earlier", createdAt: 1 });
      expect((await store.accounts.listAccounts()).map(({ id }) => id)).toEqual(["acc_a", "acc_b"]);
      expect(await store.accounts.findAccount("acc_b")).toEqual({ id: "acc_b", name: "later", createdAt: 2 });
      expect(await store.accounts.findAccount("acc_c")).toBeUndefined();
    });

    test("the store reports that it is usable", async () => {
      await using store = await harness.open();
      await store.check();
      expect(await store.dataVersion()).toBe(await store.dataVersion());
    });
  });

  describeDomain("keys", harness, () => {
    test("are found by their hash and their id, and belong to an account", async () => {
      await using store = await openWithAccounts(harness);
      await store.keys.createKey(keyOf("key_1"), hash("one"));
      await store.keys.createKey(keyOf("key_2", "acc_2", 2), hash("two"));
      expect(await store.keys.findKeyByHash(hash("one"))).toMatchObject(keyOf("key_1"));
      expect(await store.keys.findKeyByHash(hash("three"))).toBeUndefined();
      expect(await store.keys.findKey("key_2")).toEqual(keyOf("key_2", "acc_2", 2));
      expect((await store.keys.listKeys()).map(({ id }) => id)).toEqual(["key_1", "key_2"]);
      expect((await store.keys.listKeys("acc_2")).map(({ id }) => id)).toEqual(["key_2"]);
      await expect(store.keys.createKey(keyOf("key_3", "acc_none"), hash("x"))).rejects.toThrow();
      await expect(store.keys.createKey(keyOf("key_4"), hash("one"))).rejects.toThrow();
    });

    test("are revoked once: a second revocation keeps the time of the first", async () => {
      await using store = await openWithAccounts(harness);
      await store.keys.createKey(keyOf("key_1"), hash("one"));
      expect(await store.keys.revokeKey("key_none", 5)).toBe(false);
      expect(await Promise.all([5, 6, 7].map((at) => store.keys.revokeKey("key_1", at)))).toEqual([true, true, true]);
      const { revokedAt } = (await store.keys.findKey("key_1")) ?? {};
      expect([5, 6, 7]).toContain(revokedAt);
      await store.keys.revokeKey("key_1", 99);
      await store.keys.recordKeyUse("key_1", 8);
      expect(await store.keys.findKey("key_1")).toMatchObject({ revokedAt, lastUsedAt: 8 });
    });
  });

  describeDomain("audit log", harness, () => {
    test("lists the entries of an account, newest first, and keeps them for 400 days", async () => {
      await using store = await openWithAccounts(harness);
      const day = 24 * 3600;
      await store.audit.addEntry(auditEntryOf(ACCOUNT, 1, "first"));
      await store.audit.addEntry(auditEntryOf(ACCOUNT, 2, "second"));
      await store.audit.addEntry(auditEntryOf("acc_2", 2, "other"));
      expect(await store.audit.listEntries(ACCOUNT, 10)).toEqual([
        auditEntryOf(ACCOUNT, 2, "second"),
        auditEntryOf(ACCOUNT, 1, "first"),
      ]);
      expect(await store.audit.listEntries(ACCOUNT, 1)).toHaveLength(1);
      await store.audit.addEntry(auditEntryOf(ACCOUNT, 2 + 400 * day, "later"));
      expect((await store.audit.listEntries(ACCOUNT, 10)).map(({ action }) => action)).toEqual(["later", "second"]);
    });
  });

  describeDomain("network groups", harness, () => {
    test("belong to one account, and concurrent additions add a group once", async () => {
      await using store = await openWithAccounts(harness);
      await Promise.all(["b", "a", "b", "a"].map((name) => store.networkGroups.addNetworkGroup(ACCOUNT, name)));
      expect(await Promise.all(TWO_ACCOUNTS.map((id) => store.networkGroups.listNetworkGroups(id)))).toEqual([
        ["a", "b"],
        [],
      ]);
      await expect(store.networkGroups.addNetworkGroup("acc_none", "a")).rejects.toThrow();
    });
  });
}
