import { expect, test } from "vitest";
import { KEY_BOUNDS } from "../../../src/control-plane/core/people/key-limits.ts";
import type { LoginRequest } from "../../../src/control-plane/core/people/login-request.ts";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import type { LoginResult } from "../../../src/control-plane/store/login-requests.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit, someCode, someSession, someUser } from "../../support/control-plane/people.ts";
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
  await signIn(store, user);
  return user;
}

const sessionOf = (userId: string): Uint8Array => hash(`session of ${userId}`);

async function signIn(store: Store, user: User): Promise<void> {
  const opened = { session: someSession(user), hash: sessionOf(user.id), user, audit: someAudit("session.opened") };
  expect(await store.userSessions.openSession({ ...opened, replaces: undefined })).toBe(true);
}

const approve = (store: Store, name: string, { id }: User, role: User["role"] = "operator", at = 1_100) =>
  store.loginRequests.decideLoginRequest(
    hash(`user ${name}`),
    { at, userId: id, sessionHash: sessionOf(id), grant: { role, expiresAt: 9_000 } },
    someAudit("login.decided"),
  );

let count = 0;

const take = (store: Store, name: string, at = 1_200, bounds = KEY_BOUNDS): Promise<LoginResult> => {
  const id = `key_${++count}`;
  const secret = `secret ${name}`;
  return store.loginRequests.takeLogin(
    hash(`device ${name}`),
    at,
    bounds,
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
        originId: user.id,
        isPersonal: true,
      },
      hash: hash(secret),
      audit: someAudit("key.created"),
    }),
  );
};

/** Contract of stores for the log-ins of programs. */
export function loginRequestsContract(harness: StoreHarness): void {
  describeDomain("login requests", harness, () => {
    test("a confirmed request makes one key, however often it is fetched; once that is revoked, none", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store, { role: "operator" });
      for (let round = 0; round < ROUNDS; round++) {
        const name = `a${round}`;
        expect(await store.loginRequests.createLoginRequest(REQUEST, codes(name))).toBe("created");
        expect(await store.loginRequests.findLoginRequest(hash(`user ${name}`))).toEqual(REQUEST);
        expect(await take(store, name)).toEqual({ kind: "pending" });
        expect(await approve(store, name, user)).toBe("decided");
        expect(await store.loginRequests.findLoginRequest(hash(`user ${name}`))).toMatchObject({ state: "approved" });
        const results = await Promise.all([1, 2, 3, 4].map(() => take(store, name)));
        const taken = results.find((result) => result.kind === "key");
        expect(results.map((result) => result.kind === "key" && result.key)).toEqual(Array(4).fill(taken?.key));
        expect(taken?.key).toMatchObject({ role: "operator", expiresAt: 9_000, name: REQUEST.clientName });
        expect(await store.keys.findKey(taken!.key.id)).toEqual(taken?.key);
        expect(await store.keys.findKeyByHash(hash(`secret ${name}`))).toEqual(taken?.key);
        // Whoever has lost the response asks again.
        expect(await take(store, name, 1_599)).toMatchObject({ kind: "key", key: taken?.key });
        if (round === 0) await store.keys.revokeKey(taken!.key.id, 1_300);
        expect((await take(store, name)).kind).toBe(round === 0 ? "denied" : "key");
        expect(await take(store, name, 1_600)).toEqual({ kind: "expired" });
      }
      expect(await store.keys.listKeys(ACCOUNT)).toHaveLength(ROUNDS);
      const entries = await store.audit.listEntries(ACCOUNT, 100, { actions: ["key.created"] });
      expect(entries).toHaveLength(ROUNDS);
    });

    test("it is decided once; a denied one makes no key", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store);
      await store.loginRequests.createLoginRequest(REQUEST, codes("b"));
      const deny = { at: 1_100, userId: user.id, sessionHash: sessionOf(user.id), grant: undefined };
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

    test("few wait for one source, also if they begin at once; those that were decided do not wait", async () => {
      await using store = await openWithAccounts(harness);
      const begin = (name: string, source = "192.0.2.1") =>
        store.loginRequests.createLoginRequest({ ...REQUEST, source }, codes(name));
      const made = await Promise.all(Array.from({ length: 24 }, (_, number) => begin(`f${number}`)));
      expect(made.filter((result) => result === "created")).toHaveLength(20);
      expect(made.filter((result) => result === "too_many")).toHaveLength(4);
      expect(await begin("g", "192.0.2.2")).toBe("created");
      const user = await addUser(store);
      const first = `f${made.indexOf("created")}`;
      expect(await approve(store, first, user, "viewer")).toBe("decided");
      expect(await take(store, first)).toMatchObject({ kind: "key" });
      expect(await begin("h")).toBe("created");
      expect(await begin("i")).toBe("too_many");
    });

    test("one network that fills the room keeps nobody of another one out", async () => {
      await using store = await openWithAccounts(harness);
      const begin = (name: string, source: string, createdAt = 1_000) =>
        store.loginRequests.createLoginRequest({ ...REQUEST, createdAt, source }, codes(name), 6);
      for (let number = 0; number < 6; number++)
        expect(await begin(`s${number}`, `2001:db8:1:${number}::1`, 1_000 + number)).toBe("created");
      expect(await begin("s6", "2001:db8:1:6::1")).toBe("too_many");
      // Of another network: the newest of the largest falls, until all have their share.
      expect(await begin("t", "2001:db8:2::1")).toBe("created_for_another");
      expect(await begin("u", "192.0.2.1")).toBe("created_for_another");
      expect(await begin("v", "192.0.2.2")).toBe("created_for_another");
      const isThere = async (name: string) =>
        (await store.loginRequests.findLoginRequest(hash(`user ${name}`))) !== undefined;
      const names = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "t", "u", "v"];
      const there = await Promise.all(names.map(isThere));
      expect(names.filter((_, index) => there[index])).toEqual(["s0", "s1", "s2", "t", "u", "v"]);
      expect(await begin("w", "192.0.2.3")).toBe("too_many");
      const results = await Promise.all(["x", "y", "z"].map((name) => begin(name, `198.51.100.${name.charCodeAt(0)}`)));
      expect(results.toSorted()).toEqual(["created_for_another", "too_many", "too_many"]);
    });

    test("a user has few keys of log-ins, which take no room of the account's: the one used least recently falls", async () => {
      await using store = await openWithAccounts(harness);
      const [user, other] = [await addUser(store), await addUser(store)];
      const bounds = { ...KEY_BOUNDS, maxLoginKeys: 2, maxKeys: 0 };
      const ids: string[] = [];
      const logIn = async (owner: User, at: number): Promise<LoginResult> => {
        const name = `n${at}`;
        const request = { ...REQUEST, createdAt: at, expiresAt: at + 600, source: `192.0.2.${at % 100}` };
        await store.loginRequests.createLoginRequest(request, codes(name));
        expect(await approve(store, name, owner, "viewer", at)).toBe("decided");
        const result = await take(store, name, at, bounds);
        if (result.kind === "key") ids.push(result.key.id);
        return result;
      };
      for (const [owner, at] of [
        [user, 2_001],
        [other, 2_002],
        [user, 2_003],
      ] as const)
        expect(await logIn(owner, at)).toMatchObject({ kind: "key" });
      const [first = ""] = ids;
      await store.keys.recordKeyUse(first, 2_004);
      // Requests find it in the cache from now on.
      await store.keys.findKeyByHash(hash("secret n2003"));
      const { machines } = await store.accessVersions();
      await logIn(user, 2_010);
      expect((await store.keys.findKeyByHash(hash("secret n2003")))?.revokedAt).toBe(2_010);
      expect((await store.accessVersions()).machines).not.toBe(machines);
      expect(await store.audit.listEntries(ACCOUNT, 1)).toMatchObject([
        { action: "key.created", details: { revoked_keys: 1 } },
      ]);
      // Those that have expired do not count.
      await store.keys.changeKey(ACCOUNT, first, { expiresAt: 2_015 });
      await logIn(user, 2_020);
      const living = (await store.keys.listKeys(ACCOUNT)).filter(({ revokedAt }) => revokedAt === undefined);
      expect(living.map(({ id }) => id)).toEqual([ids[0], ids[1], ids[3], ids[4]]);
      // At the same time, too.
      const names = ["o", "p", "q"];
      for (const name of names) {
        await store.loginRequests.createLoginRequest(REQUEST, codes(name));
        await approve(store, name, user, "viewer");
      }
      await Promise.all(names.map((name) => take(store, name, 1_200, bounds)));
      const valid = (await store.keys.listKeys(ACCOUNT)).filter(
        ({ revokedAt, createdBy, expiresAt }) =>
          revokedAt === undefined && createdBy === user.id && expiresAt !== 2_015,
      );
      expect(valid).toHaveLength(2);
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
        await store.keys.findKeyByHash(hash(`secret ${name}`));
      }
      // One that belongs to the account, though the user has made it.
      const own = { ...(await store.keys.findKey(ids[0]!))!, id: "key_own", isPersonal: false };
      await store.keys.createKey(own, hash("own"));
      const living = async (): Promise<string[]> =>
        (await store.keys.listKeys(ACCOUNT)).filter(({ revokedAt }) => revokedAt === undefined).map(({ id }) => id);
      const { machines } = await store.accessVersions();
      await store.users.changeUser(ACCOUNT, user.id, { role: "installer" }, someAudit("user.changed"));
      expect((await living()).toSorted()).toEqual([ids[1]!, "key_own"].toSorted());
      expect((await store.keys.findKeyByHash(hash("secret i")))?.revokedAt).toBe(1_000);
      expect((await store.accessVersions()).machines).not.toBe(machines);
      const [entry] = await store.audit.listEntries(ACCOUNT, 1);
      expect(entry).toMatchObject({ action: "user.changed", details: { revoked_keys: 1 } });
      await store.users.removeUser(ACCOUNT, user.id, someAudit("user.removed"));
      expect(await living()).toEqual(["key_own"]);
    });

    test.each(["a change", "a reset"] as const)(
      "%s of the password ends keys of log-ins and what was confirmed",
      async (kind) => {
        await using store = await openWithAccounts(harness);
        const [user, other] = [await addUser(store), await addUser(store)];
        const ids = new Map<string, string>();
        for (const [name, owner] of [
          ["mine", user],
          ["other", other],
        ] as const) {
          await store.loginRequests.createLoginRequest(REQUEST, codes(name));
          await approve(store, name, owner, "viewer");
          const result = await take(store, name);
          if (result.kind !== "key") throw new Error(result.kind);
          ids.set(name, result.key.id);
          await store.keys.findKeyByHash(hash(`secret ${name}`));
        }
        await store.loginRequests.createLoginRequest(REQUEST, codes("confirmed"));
        await approve(store, "confirmed", user, "viewer");
        const { machines } = await store.accessVersions();
        const audit = someAudit(kind === "a change" ? "password.changed" : "invitation.accepted");
        if (kind === "a change") {
          const change = { passwordHash: "$new" };
          expect(await store.users.changeUser(ACCOUNT, user.id, change, audit)).toBe("changed");
        } else {
          await store.users.issueCode(someCode("reset", user), hash("code"), someAudit("user.reset"));
          const acceptance = { codeHash: hash("code"), at: 1_500, passwordHash: "$new", name: undefined, audit };
          expect(await store.users.acceptCode(acceptance)).toBeDefined();
        }
        expect((await store.keys.findKeyByHash(hash("secret mine")))?.revokedAt).toBe(1_000);
        expect((await store.keys.findKeyByHash(hash("secret other")))?.revokedAt).toBeUndefined();
        expect((await store.accessVersions()).machines).not.toBe(machines);
        expect(await store.audit.listEntries(ACCOUNT, 1)).toMatchObject([
          { action: audit.action, details: { revoked_keys: 1 } },
        ]);
        expect(await take(store, "confirmed")).toEqual({ kind: "denied" });
      },
    );

    test("somebody who is signed out meanwhile confirms nothing, and with a new password at the same time it makes no key", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store);
      await store.loginRequests.createLoginRequest(REQUEST, codes("l"));
      await store.userSessions.closeSession(sessionOf(user.id));
      expect(await approve(store, "l", user)).toBe("signed_out");
      expect(await take(store, "l")).toEqual({ kind: "pending" });
      for (let round = 0; round < ROUNDS; round++) {
        const thief = await addUser(store);
        const name = `m${round}`;
        await store.loginRequests.createLoginRequest({ ...REQUEST, source: `192.0.2.${round + 10}` }, codes(name));
        await Promise.all([
          approve(store, name, thief, "viewer"),
          store.users.changeUser(ACCOUNT, thief.id, { passwordHash: "$new" }, someAudit("password.changed")),
        ]);
        expect(["denied", "pending"]).toContain((await take(store, name)).kind);
      }
      expect(await store.keys.listKeys(ACCOUNT)).toEqual([]);
    });

    test("what somebody confirmed before being disabled makes no key afterwards either", async () => {
      await using store = await openWithAccounts(harness);
      const user = await addUser(store);
      await store.loginRequests.createLoginRequest(REQUEST, codes("k"));
      await approve(store, "k", user, "viewer");
      for (const isDisabled of [true, false])
        await store.users.changeUser(ACCOUNT, user.id, { isDisabled }, someAudit("user.changed"));
      expect(await take(store, "k")).toEqual({ kind: "denied" });
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
