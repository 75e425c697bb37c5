import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit } from "../../support/control-plane/people.ts";
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

/** `one` is nobody's; it has made `two`, which has made `three`; `other` is not of them. */
async function withLine(store: Store): Promise<void> {
  const line = { role: "admin", expiresAt: undefined, originId: "one" } as const;
  await store.keys.createKey({ ...keyOf("one"), ...line, createdBy: undefined }, hash("one"));
  await store.keys.createKey({ ...keyOf("two"), ...line, createdBy: "one" }, hash("two"));
  await store.keys.createKey({ ...keyOf("three"), ...line, createdBy: "two" }, hash("three"));
  await store.keys.createKey({ ...keyOf("other"), ...line, createdBy: undefined }, hash("other"));
  // Requests find them in the cache from now on.
  for (const name of ["one", "two", "three", "other"]) await store.keys.findKeyByHash(hash(name));
}

const ends = async (store: Store, field: "revokedAt" | "expiresAt") =>
  Promise.all(
    ["one", "two", "three", "other"].map(async (name) => (await store.keys.findKeyByHash(hash(name)))?.[field]),
  );

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

    test("operators update the agents of an account whose settings say so", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.accounts.readOperatorsUpdateAgents(ACCOUNT)).toBe(false);
      await store.accounts.setOperatorsUpdateAgents(ACCOUNT, true, someAudit("settings.changed", ACCOUNT));
      expect(await store.accounts.readOperatorsUpdateAgents(ACCOUNT)).toBe(true);
      expect(await store.accounts.readOperatorsUpdateAgents("acc_2")).toBe(false);
      expect(await store.accounts.readOperatorsUpdateAgents("acc_none")).toBe(false);
    });

    test("the store reports that it is usable", async () => {
      await using store = await harness.open();
      await store.check();
      expect(await store.accessVersions()).toEqual(await store.accessVersions());
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

    test("are found by the hash of their secret with every change of their limits", async () => {
      await using store = await openWithAccounts(harness);
      const admin = { ...keyOf("key_1"), role: "admin" as const, expiresAt: undefined };
      await store.keys.createKey(admin, hash("one"));
      for (const expiresAt of [5_000, undefined, 6_000, 7_000, undefined]) {
        const changed = await store.keys.changeKey(ACCOUNT, "key_1", { expiresAt: expiresAt ?? null });
        expect(changed).toEqual({ ...admin, expiresAt });
        expect(await store.keys.findKeyByHash(hash("one"))).toEqual(changed);
      }
      const { machines } = await store.accessVersions();
      expect(await store.keys.changeKey(ACCOUNT, "key_1", { name: "new" })).toEqual({ ...admin, name: "new" });
      if (store.isShared) expect((await store.accessVersions()).machines).not.toBe(machines);
      expect(await store.keys.changeKey("acc_2", "key_1", { name: "x" })).toBeUndefined();
      expect(await store.keys.changeKey(ACCOUNT, "key_none", { name: "x" })).toBeUndefined();
    });

    test("are forgotten once revoked or expired, those that ended first before others", async () => {
      await using store = await openWithAccounts(harness);
      const bounds = { maxKeys: 10, maxLoginKeys: 1, maxEnded: 2 };
      const ends = { a: { revokedAt: 10 }, b: { expiresAt: 9 }, c: { revokedAt: 8 }, d: { expiresAt: 7 }, e: {} };
      for (const [id, fields] of Object.entries(ends))
        await store.keys.createKey({ ...keyOf(id), ...fields }, hash(id));
      await store.keys.createKey({ ...keyOf("f", "acc_2"), revokedAt: 1 }, hash("f"));
      expect(await store.keys.createKey(keyOf("g", ACCOUNT, 100), hash("g"), undefined, bounds)).toBe("created");
      expect((await store.keys.listKeys()).map(({ id }) => id)).toEqual(["a", "b", "e", "f", "g"]);
    });

    test("are at most as many as the account may have, also if they are created at once; ended ones do not count", async () => {
      await using store = await openWithAccounts(harness);
      const bounds = { maxKeys: 3, maxLoginKeys: 1, maxEnded: 100 };
      for (let number = 0; number < 4; number++)
        await store.keys.createKey({ ...keyOf(`expired${number}`), expiresAt: 50 }, hash(`expired${number}`));
      await store.keys.createKey({ ...keyOf("revoked"), revokedAt: 60 }, hash("revoked"));
      const create = (id: string) => store.keys.createKey(keyOf(id, ACCOUNT, 100), hash(id), undefined, bounds);
      const results = await Promise.all(["a", "b", "c", "d", "e", "f"].map(create));
      expect(results.toSorted()).toEqual(["created", "created", "created", "too_many", "too_many", "too_many"]);
      expect(await store.keys.createKey(keyOf("x", "acc_2", 100), hash("x"), undefined, bounds)).toBe("created");
      // Nor does an expired one live again beyond that.
      const renewal = { at: 100, bounds };
      const renew = (number: number) =>
        store.keys.changeKey(ACCOUNT, `expired${number}`, { expiresAt: 900 }, undefined, renewal);
      expect(await renew(0)).toBe("too_many");
      expect(await store.keys.changeKey(ACCOUNT, "expired0", { name: "n" }, undefined, renewal)).toBeDefined();
      const living = (await store.keys.listKeys(ACCOUNT)).find(({ createdAt }) => createdAt === 100);
      expect(await store.keys.changeKey(ACCOUNT, living!.id, { expiresAt: 800 }, undefined, renewal)).toBeDefined();
      await store.keys.revokeKey(living!.id, 100);
      const renewed = await Promise.all([0, 1, 2].map(renew));
      expect(renewed.filter((each) => each === "too_many")).toHaveLength(2);
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

  describeDomain("keys that keys have made", harness, () => {
    test("are revoked with what made them, and noticed wherever they are used", async () => {
      await using store = await openWithAccounts(harness);
      await withLine(store);
      const { machines } = await store.accessVersions();
      await store.keys.revokeKey("two", 50, someAudit("key.revoked"));
      expect(await ends(store, "revokedAt")).toEqual([undefined, 50, 50, undefined]);
      expect((await store.accessVersions()).machines).not.toBe(machines);
      await store.keys.revokeKey("one", 60, someAudit("key.revoked"));
      expect(await ends(store, "revokedAt")).toEqual([60, 50, 50, undefined]);
      const entries = await store.audit.listEntries(ACCOUNT, 10);
      expect(entries.map(({ details }) => details["revoked_keys"])).toEqual([undefined, 1]);
    });

    test("end no later than what made them, and nothing prolongs them beyond that", async () => {
      await using store = await openWithAccounts(harness);
      await withLine(store);
      await store.keys.changeKey(ACCOUNT, "two", { expiresAt: 500 });
      expect(await ends(store, "expiresAt")).toEqual([undefined, 500, 500, undefined]);
      await store.keys.changeKey(ACCOUNT, "one", { expiresAt: 400 });
      expect(await ends(store, "expiresAt")).toEqual([400, 400, 400, undefined]);
      expect(await store.keys.changeKey(ACCOUNT, "three", { expiresAt: null })).toMatchObject({ expiresAt: 400 });
      expect(await store.keys.changeKey(ACCOUNT, "two", { expiresAt: 900 })).toMatchObject({ expiresAt: 400 });
      await store.keys.changeKey(ACCOUNT, "one", { expiresAt: null });
      expect(await ends(store, "expiresAt")).toEqual([undefined, 400, 400, undefined]);
    });

    test("are not made by a key that has ended, or in a session that has", async () => {
      await using store = await openWithAccounts(harness);
      await withLine(store);
      await store.keys.changeKey(ACCOUNT, "other", { expiresAt: 50 });
      await store.keys.revokeKey("two", 50);
      const make = (id: string, createdBy: string, session?: Uint8Array) =>
        store.keys.createKey({ ...keyOf(id, ACCOUNT, 60), createdBy }, hash(id), undefined, undefined, session);
      expect(await make("a", "one")).toBe("created");
      expect(await make("b", "three")).toBe("maker_ended");
      expect(await make("c", "other")).toBe("maker_ended");
      expect(await make("d", "usr_1", hash("no session"))).toBe("maker_ended");
    });

    test("of keys that are made while what makes them is revoked none is left", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < 5; round++) {
        const [maker, child] = [`maker ${round}`, `child ${round}`];
        const line = { role: "admin", expiresAt: undefined } as const;
        await store.keys.createKey({ ...keyOf(maker), ...line, createdBy: undefined }, hash(maker));
        const bounds = { maxKeys: 1_000, maxLoginKeys: 10, maxEnded: 1_000 };
        const made = { ...keyOf(child, ACCOUNT, 10), ...line, createdBy: maker };
        await Promise.all([
          store.keys.createKey(made, hash(child), undefined, bounds),
          store.keys.revokeKey(maker, 20),
          store.keys.createKey({ ...made, id: `${child} too` }, hash(`${child} too`), undefined, bounds),
        ]);
        const living = (await store.keys.listKeys(ACCOUNT)).filter(({ revokedAt }) => revokedAt === undefined);
        expect(living).toEqual([]);
      }
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
