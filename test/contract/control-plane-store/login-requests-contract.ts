import { expect, test } from "vitest";
import type { LoginRequest } from "../../../src/control-plane/core/people/login-request.ts";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import type { LoginResult } from "../../../src/control-plane/store/login-requests.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit, someUser } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, type StoreHarness } from "./harness.ts";

const ROUNDS = 6;

const REQUEST: LoginRequest = {
  clientName: "edgectl on build-7",
  source: "192.0.2.1",
  createdAt: 1_000,
  expiresAt: 1_600,
  state: "pending",
};
const codes = (name: string) => ({ deviceCode: hash(`device ${name}`), userCode: hash(`user ${name}`) });

async function addUser(store: Store, fields: Partial<User> = {}): Promise<User> {
  const user = someUser(fields);
  await store.users.createUser(user, undefined, someAudit("user.created"));
  return user;
}

const approve = (store: Store, name: string, { id }: User, role: User["role"] = "operator", at = 1_100) =>
  store.loginRequests.decideLoginRequest(
    hash(`user ${name}`),
    { at, userId: id, grant: { role, expiresAt: 9_000 } },
    someAudit("login.decided"),
  );

let count = 0;

const take = (store: Store, name: string, at = 1_200, maxKeys = 1_000): Promise<LoginResult> => {
  const id = `key_${++count}`;
  return store.loginRequests.takeLogin(
    hash(`device ${name}`),
    at,
    maxKeys,
    (user, { role, expiresAt, name: label }) => ({
      key: {
        id,
        accountId: user.accountId,
        name: label,
        createdAt: at,
        lastUsedAt: undefined,
        revokedAt: undefined,
        permissions: [],
        role,
        expiresAt,
        createdBy: user.id,
      },
      hash: hash(`secret ${id}`),
      audit: someAudit("key.created"),
    }),
  );
};

/** Contract of stores for the log-ins of programs. */
export function loginRequestsContract(harness: StoreHarness): void {
  describeDomain("login requests", harness, () => {
    test("a confirmed request makes its key exactly once, however often it is fetched at a time", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store, { role: "operator" });
      for (let round = 0; round < ROUNDS; round++) {
        const name = `a${round}`;
        expect(await store.loginRequests.createLoginRequest(REQUEST, codes(name))).toBe(true);
        expect(await store.loginRequests.findLoginRequest(hash(`user ${name}`))).toEqual(REQUEST);
        expect(await take(store, name)).toEqual({ kind: "pending" });
        expect(await approve(store, name, user)).toBe("decided");
        expect(await store.loginRequests.findLoginRequest(hash(`user ${name}`))).toMatchObject({ state: "approved" });
        const results = await Promise.all([1, 2, 3, 4].map(() => take(store, name)));
        expect(results.map(({ kind }) => kind).toSorted()).toEqual(["key", "unknown", "unknown", "unknown"]);
        const taken = results.find((result) => result.kind === "key");
        expect(taken?.key).toMatchObject({ role: "operator", expiresAt: 9_000, name: REQUEST.clientName });
        expect(await store.keys.findKey(taken!.key.id)).toEqual(taken?.key);
        expect(await store.keys.findKeyByHash(hash(`secret ${taken!.key.id}`))).toEqual(taken?.key);
      }
      expect(await store.keys.listKeys(ACCOUNT)).toHaveLength(ROUNDS);
      const entries = await store.audit.listEntries(ACCOUNT, 100, { actions: ["key.created"] });
      expect(entries).toHaveLength(ROUNDS);
    });

    test("it is decided once; a denied one makes no key", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store);
      await store.loginRequests.createLoginRequest(REQUEST, codes("b"));
      const deny = { at: 1_100, userId: user.id, grant: undefined };
      const decisions = await Promise.all([
        approve(store, "b", user),
        store.loginRequests.decideLoginRequest(hash("user b"), deny, someAudit("login.decided")),
        approve(store, "b", user),
      ]);
      expect(decisions.toSorted()).toEqual(["decided", "decided_before", "decided_before"]);
      expect(await store.audit.listEntries(ACCOUNT, 100, { actions: ["login.decided"] })).toHaveLength(1);
      await store.loginRequests.createLoginRequest(REQUEST, codes("c"));
      await store.loginRequests.decideLoginRequest(hash("user c"), deny, someAudit("login.decided"));
      expect(await take(store, "c")).toEqual({ kind: "denied" });
      expect(await take(store, "c")).toEqual({ kind: "unknown" });
      expect(await approve(store, "none", user)).toBe("unknown");
    });

    test("it expires, also after it was confirmed", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store);
      await store.loginRequests.createLoginRequest(REQUEST, codes("d"));
      expect(await approve(store, "d", user, "viewer", 1_600)).toBe("unknown");
      expect(await approve(store, "d", user, "viewer", 1_599)).toBe("decided");
      expect(await take(store, "d", 1_600)).toEqual({ kind: "expired" });
      expect(await store.keys.listKeys(ACCOUNT)).toEqual([]);
      // Removed by the next one.
      await store.loginRequests.createLoginRequest({ ...REQUEST, createdAt: 2_000, expiresAt: 2_600 }, codes("e"));
      expect(await store.loginRequests.findLoginRequest(hash("user d"))).toBeUndefined();
    });

    test("few wait for one source, and the account has as many keys as it may", async () => {
      await using store = await openWithAccounts(harness);
      const made: boolean[] = [];
      for (let number = 0; number < 22; number++)
        made.push(await store.loginRequests.createLoginRequest(REQUEST, codes(`f${number}`)));
      expect(made.filter(Boolean)).toHaveLength(20);
      expect(await store.loginRequests.createLoginRequest({ ...REQUEST, source: "192.0.2.2" }, codes("g"))).toBe(true);
      const user = await addUser(store);
      await approve(store, "g", user);
      expect(await take(store, "g", 1_200, 0)).toEqual({ kind: "too_many_keys" });
      expect(await take(store, "g", 1_200, 1)).toMatchObject({ kind: "key" });
    });

    test("the key has at most the role that the person has by then", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store, { role: "operator" });
      await store.loginRequests.createLoginRequest(REQUEST, codes("h"));
      await approve(store, "h", user, "operator");
      await store.users.changeUser(ACCOUNT, user.id, { role: "viewer" }, someAudit("user.changed"));
      expect(await take(store, "h")).toMatchObject({ kind: "key", key: { role: "viewer" } });
    });

    test("keys of log-ins fall with their user, and with its role; others stay", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store, { role: "operator" });
      const ids: string[] = [];
      for (const [name, role] of [
        ["i", "operator"],
        ["j", "viewer"],
      ] as const) {
        await store.loginRequests.createLoginRequest(REQUEST, codes(name));
        await approve(store, name, user, role);
        const result = await take(store, name);
        if (result.kind !== "key") throw new Error(result.kind);
        ids.push(result.key.id);
        // Requests find it in the cache from now on.
        await store.keys.findKeyByHash(hash(`secret ${result.key.id}`));
      }
      const own = { ...(await store.keys.findKey(ids[0]!))!, id: "key_own" };
      await store.keys.createKey(own, hash("own"));
      const living = async (): Promise<string[]> =>
        (await store.keys.listKeys(ACCOUNT)).filter(({ revokedAt }) => revokedAt === undefined).map(({ id }) => id);
      const { machines } = await store.accessVersions();
      await store.users.changeUser(ACCOUNT, user.id, { role: "installer" }, someAudit("user.changed"));
      expect((await living()).toSorted()).toEqual([ids[1]!, "key_own"].toSorted());
      expect((await store.keys.findKeyByHash(hash(`secret ${ids[0]}`)))?.revokedAt).toBe(1_000);
      expect((await store.accessVersions()).machines).not.toBe(machines);
      const [entry] = await store.audit.listEntries(ACCOUNT, 1);
      expect(entry).toMatchObject({ action: "user.changed", details: { revoked_keys: 1 } });
      await store.users.removeUser(ACCOUNT, user.id, someAudit("user.removed"));
      expect(await living()).toEqual(["key_own"]);
    });

    test("what somebody confirmed who is disabled or removed makes no key", async () => {
      await using store = await openWithAccounts(harness);
      for (const change of ["disable", "remove"] as const) {
        const user = await addUser(store);
        await store.loginRequests.createLoginRequest(REQUEST, codes(change));
        await approve(store, change, user, "viewer");
        if (change === "remove") await store.users.removeUser(ACCOUNT, user.id, someAudit("user.removed"));
        else await store.users.changeUser(ACCOUNT, user.id, { isDisabled: true }, someAudit("user.changed"));
        expect(["denied", "unknown"]).toContain((await take(store, change)).kind);
      }
      expect(await store.keys.listKeys(ACCOUNT)).toEqual([]);
    });
  });
}
