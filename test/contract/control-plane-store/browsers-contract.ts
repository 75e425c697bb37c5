import { expect, test } from "vitest";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import { BROWSER_RETENTION_S, MAX_BROWSERS_PER_USER } from "../../../src/control-plane/store/user-sessions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit, someCode, someUser } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, type StoreHarness } from "./harness.ts";

async function create(store: Store): Promise<User> {
  const user = someUser();
  await store.users.createUser(user, undefined, someAudit("user.created"));
  return user;
}

/** Contract of stores for the browsers of users, and for their passwords when those are hashed again. */
export function browsersContract(harness: StoreHarness): void {
  describeDomain("browsers of users", harness, () => {
    test("are known to the user who has signed in with them, for a time", async () => {
      await using store = await openWithAccounts(harness);
      const [jane, joe] = [await create(store), await create(store)];
      await store.browsers.remember(jane.id, hash("a"), 1_000);
      expect(await store.browsers.isKnown(jane.id, hash("a"), 1_000)).toBe(true);
      expect(await store.browsers.isKnown(joe.id, hash("a"), 1_000)).toBe(false);
      expect(await store.browsers.isKnown(jane.id, hash("b"), 1_000)).toBe(false);
      expect(await store.browsers.isKnownToAnyone(hash("a"), 1_000)).toBe(true);
      expect(await store.browsers.isKnownToAnyone(hash("b"), 1_000)).toBe(false);
      expect(await store.browsers.isKnownToAnyone(hash("a"), 1_000 + BROWSER_RETENTION_S)).toBe(false);
      expect(await store.browsers.isKnown(jane.id, hash("a"), 1_000 + BROWSER_RETENTION_S)).toBe(false);
      await store.browsers.remember(jane.id, hash("a"), 2_000);
      expect(await store.browsers.isKnown(jane.id, hash("a"), 1_000 + BROWSER_RETENTION_S)).toBe(true);
      // A token of one user does not become another's.
      await store.browsers.remember(joe.id, hash("a"), 2_000);
      expect(await store.browsers.isKnown(joe.id, hash("a"), 2_000)).toBe(false);
    });

    test("are forgotten with their user, and nothing is remembered of one who is gone", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      await store.browsers.remember(user.id, hash("a"), 1_000);
      expect(await store.users.removeUser(ACCOUNT, user.id, someAudit("user.removed"))).toBe("changed");
      expect(await store.browsers.isKnown(user.id, hash("a"), 1_000)).toBe(false);
      await store.browsers.remember(user.id, hash("b"), 1_000);
      expect(await store.browsers.isKnown(user.id, hash("b"), 1_000)).toBe(false);
    });

    test("are limited in number: the one used least recently goes", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      const names = Array.from({ length: MAX_BROWSERS_PER_USER + 1 }, (_, index) => `browser ${index}`);
      for (const [index, name] of names.slice(0, -1).entries())
        await store.browsers.remember(user.id, hash(name), 1_000 + index);
      await store.browsers.remember(user.id, hash(names[0]!), 2_000);
      await store.browsers.remember(user.id, hash(names.at(-1)!), 2_001);
      const known = await Promise.all(names.map((name) => store.browsers.isKnown(user.id, hash(name), 2_001)));
      expect(names.filter((_, index) => !known[index])).toEqual(["browser 1"]);
    });

    test("many sign-ins at once", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      const names = Array.from({ length: 2 * MAX_BROWSERS_PER_USER }, (_, index) => `browser ${index}`);
      await Promise.all(names.map((name) => store.browsers.remember(user.id, hash(name), 1_000)));
      const known = await Promise.all(names.map((name) => store.browsers.isKnown(user.id, hash(name), 1_000)));
      expect(known.filter(Boolean)).toHaveLength(MAX_BROWSERS_PER_USER);
    });

    test("another hash of the same password takes the place of the one that was read, and of no other", async () => {
      await using store = await openWithAccounts(harness);
      const [user, other] = [await create(store), await create(store)];
      const stored = { ...user, passwordHash: "$stronger" };
      expect(await store.users.replaceHash(user.id, user.passwordHash!, "$stronger")).toEqual(stored);
      expect(await store.users.replaceHash(user.id, user.passwordHash!, "$late")).toBeUndefined();
      expect(await store.users.findUser(user.id)).toEqual(stored);
      expect(await store.users.findUser(other.id)).toEqual(other);
    });

    test("who an invited user is at a provider is stored once, and its invitation is void", async () => {
      await using store = await openWithAccounts(harness);
      const user = someUser({ passwordHash: undefined });
      const invitation = { code: someCode("invitation", user, { createdAt: 1_000 }), hash: hash("code") };
      await store.users.createUser(user, invitation, someAudit("user.invited"));
      const identity = { issuer: "https://id.example.com", subject: "1" };
      const link = { userId: user.id, identity, role: "operator" as const, audit: someAudit("user.changed") };
      const linked = { ...user, oidc: identity, role: "operator" };
      // Twice at once, as by two windows of the same person.
      const results = await Promise.all([store.users.linkIdentity(link), store.users.linkIdentity(link)]);
      expect(results).toEqual([linked, linked]);
      expect(await store.users.findUserByIdentity(identity.issuer, identity.subject)).toEqual(linked);
      expect(await store.users.findCode(hash("code"))).toBeUndefined();
      const other = { ...identity, subject: "2" };
      expect(await store.users.linkIdentity({ ...link, identity: other })).toBeUndefined();
      for (const fields of [{}, { passwordHash: undefined, isDisabled: true }]) {
        const refused = someUser(fields);
        await store.users.createUser(refused, undefined, someAudit("user.created"));
        expect(await store.users.linkIdentity({ ...link, userId: refused.id, identity: other })).toBeUndefined();
      }
      expect(await store.users.linkIdentity({ ...link, userId: "usr_none", identity: other })).toBeUndefined();
    });
  });
}
