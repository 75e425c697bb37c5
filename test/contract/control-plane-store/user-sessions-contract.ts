import { expect, test } from "vitest";
import { MAX_SESSION_S, SESSION_IDLE_S } from "../../../src/control-plane/core/people/session.ts";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { MAX_SESSIONS_PER_USER } from "../../../src/control-plane/store/user-sessions.ts";
import { someAudit, someCode, someSession, someUser } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, type StoreHarness } from "./harness.ts";

const AUDIT = someAudit("session.opened");
const ROUNDS = 6;

async function create(store: Store): Promise<User> {
  const user = someUser();
  await store.users.createUser(user, undefined, AUDIT);
  return user;
}

async function open(store: Store, user: User, secret: string, fields = {}): Promise<boolean> {
  const session = someSession(user, fields);
  return store.userSessions.openSession({ session, hash: hash(secret), user, replaces: undefined, audit: AUDIT });
}

/** Contract of stores for the sessions of users. */
export function userSessionsContract(harness: StoreHarness): void {
  describeDomain("sessions of users", harness, () => {
    test("are found with their user, used and closed", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      const session = someSession(user, { source: undefined });
      const opened = { session, hash: hash("a"), user, replaces: undefined, audit: AUDIT };
      expect(await store.userSessions.openSession(opened)).toBe(true);
      const signedIn = { ...user, lastSignInAt: session.createdAt };
      expect(await store.userSessions.findSession(hash("a"))).toEqual({ session, user: signedIn });
      expect(await store.userSessions.findSession(hash("b"))).toBeUndefined();
      await store.userSessions.recordSessionUse(hash("a"), 1_100);
      await store.userSessions.recordSessionUse(hash("a"), 1_050);
      expect(await store.userSessions.findSession(hash("a"))).toMatchObject({ session: { lastUsedAt: 1_100 } });
      expect(await store.userSessions.closeSession(hash("a"))).toBe(true);
      expect(await store.userSessions.closeSession(hash("a"))).toBe(false);
      expect(await store.userSessions.findSession(hash("a"))).toBeUndefined();
      expect((await store.audit.listEntries(ACCOUNT, 10)).map(({ action }) => action)).toHaveLength(2);
    });

    test("one that is closed is no reason for other instances to check devices and keys", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      await open(store, user, "one");
      const before = await store.accessVersions();
      await store.userSessions.closeSession(hash("one"));
      const after = await store.accessVersions();
      expect(after.machines).toBe(before.machines);
      if (store.isShared) expect(after.people).not.toBe(before.people);
    });

    test("one that takes the place of another ends that one", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      await open(store, user, "before");
      const opened = { session: someSession(user), hash: hash("after"), user, replaces: hash("before"), audit: AUDIT };
      expect(await store.userSessions.openSession(opened)).toBe(true);
      expect(await store.userSessions.findSession(hash("before"))).toBeUndefined();
      expect(await store.userSessions.findSession(hash("after"))).toBeDefined();
    });

    test("one that ends for another has an entry of the audit log, in the account of its own user", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      const stranger = someUser({ accountId: "acc_2" });
      await store.users.createUser(stranger, undefined, someAudit("user.created", "acc_2"));
      await open(store, stranger, "of a stranger");
      const replace = async (before: string, after: string, at = 1_000): Promise<void> => {
        const session = someSession(user, { createdAt: at, lastUsedAt: at });
        const opened = { session, hash: hash(after), user, replaces: hash(before), audit: AUDIT };
        expect(await store.userSessions.openSession(opened)).toBe(true);
      };
      const closed = async (accountId: string) =>
        store.audit.listEntries(accountId, 100, { actions: ["session.closed"] });
      await replace("nothing", "one");
      await replace("of a stranger", "two");
      expect(await closed(ACCOUNT)).toEqual([]);
      const who = { id: stranger.id, name: stranger.email };
      expect(await closed("acc_2")).toMatchObject([
        { actor: { kind: "user", ...who }, subject: { kind: "user", ...who }, details: { reason: "replaced" } },
      ]);
      await replace("two", "three");
      expect(await closed(ACCOUNT)).toMatchObject([{ subject: { id: user.id }, details: { reason: "replaced" } }]);
      // That one had expired before.
      await replace("three", "four", 1_000 + SESSION_IDLE_S);
      expect(await closed(ACCOUNT)).toHaveLength(1);
    });

    test("the one just opened stays, even if all were used in the same second; the one that falls for it has an entry", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      for (let number = 0; number < MAX_SESSIONS_PER_USER; number++)
        await open(store, user, `s${number}`, { id: `ses_a${String(number).padStart(2, "0")}` });
      expect(await open(store, user, "last", { id: "ses_z" })).toBe(true);
      expect(await store.userSessions.findSession(hash("last"))).toBeDefined();
      expect(await store.audit.listEntries(ACCOUNT, 100, { actions: ["session.closed"] })).toMatchObject([
        { subject: { id: user.id }, details: { reason: "too_many" } },
      ]);
      // Those that have expired make room first, and have no entry.
      const later = 1_000 + SESSION_IDLE_S;
      expect(await open(store, user, "later", { createdAt: later, lastUsedAt: later })).toBe(true);
      expect(await store.userSessions.findSession(hash("last"))).toBeUndefined();
      expect(await store.audit.listEntries(ACCOUNT, 100, { actions: ["session.closed"] })).toHaveLength(1);
    });

    test.each([
      ["the role is changed", { role: "operator" }, false],
      ["the password is changed", { passwordHash: "$new" }, false],
      ["the user is disabled", { isDisabled: true }, false],
      ["the name is changed", { name: "Jo" }, true],
    ] as const)("when %s", async (_, change, isKept) => {
      await using store = await openWithAccounts(harness);
      const [user, other] = [await create(store), await create(store)];
      await open(store, user, "one");
      await open(store, user, "two");
      await open(store, other, "other");
      const before = await store.accessVersions();
      await store.users.changeUser(ACCOUNT, user.id, change, AUDIT);
      for (const secret of ["one", "two"])
        expect((await store.userSessions.findSession(hash(secret))) !== undefined).toBe(isKept);
      expect(await store.userSessions.findSession(hash("other"))).toBeDefined();
      // Other instances see that they have to look.
      const after = await store.accessVersions();
      if (store.isShared && !isKept) expect(after.people).not.toBe(before.people);
      expect(after.machines).toBe(before.machines);
      // Whoever proved who it is before the change has to do so again.
      expect(await open(store, user, "late")).toBe(isKept);
    });

    test("end with a new password by code, and with the user", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      await open(store, user, "one");
      await store.users.issueCode(someCode("reset", user), hash("code"), undefined);
      expect(await store.userSessions.findSession(hash("one"))).toBeDefined();
      const acceptance = { codeHash: hash("code"), at: 1_500, passwordHash: "$new", name: undefined, audit: AUDIT };
      const changed = await store.users.acceptCode(acceptance);
      expect(await store.userSessions.findSession(hash("one"))).toBeUndefined();
      expect(changed && (await open(store, changed, "two"))).toBe(true);
      await store.users.removeUser(ACCOUNT, user.id, AUDIT);
      expect(await store.userSessions.findSession(hash("two"))).toBeUndefined();
      expect(await open(store, user, "three")).toBe(false);
    });

    test("that are opened while the password is changed: none stays of the old password", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const user = await create(store);
        const secrets = [1, 2, 3, 4].map((number) => `${round} ${number}`);
        await Promise.all([
          ...secrets.slice(0, 2).map((secret) => open(store, user, secret)),
          store.users.changeUser(ACCOUNT, user.id, { passwordHash: "$new" }, AUDIT),
          ...secrets.slice(2).map((secret) => open(store, user, secret)),
        ]);
        for (const secret of secrets) expect(await store.userSessions.findSession(hash(secret))).toBeUndefined();
      }
    });

    test("a user has a limited number: the one used least recently ends", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      for (let number = 0; number <= MAX_SESSIONS_PER_USER; number++)
        await open(store, user, `s${number}`, { lastUsedAt: number === 0 ? 5_000 : number });
      expect(await store.userSessions.findSession(hash("s1"))).toBeUndefined();
      expect(await store.userSessions.findSession(hash("s0"))).toBeDefined();
      expect(await store.userSessions.findSession(hash(`s${MAX_SESSIONS_PER_USER}`))).toBeDefined();
    });

    test("expired ones are removed", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      const now = 1_790_000_000;
      await open(store, user, "idle", { createdAt: now - SESSION_IDLE_S, lastUsedAt: now - SESSION_IDLE_S });
      await open(store, user, "old", { createdAt: now - MAX_SESSION_S, lastUsedAt: now });
      await open(store, user, "live", { createdAt: now - MAX_SESSION_S + 1, lastUsedAt: now - SESSION_IDLE_S + 1 });
      expect(await store.userSessions.removeExpired(now)).toBe(2);
      expect(await store.userSessions.findSession(hash("live"))).toBeDefined();
      expect(await store.userSessions.removeExpired(now)).toBe(0);
    });
  });
}
