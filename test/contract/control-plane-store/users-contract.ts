import { expect, test } from "vitest";
import { isLocalAdmin, type User } from "../../../src/control-plane/core/people/user.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit, someCode, someSession, someUser } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, type StoreHarness } from "./harness.ts";

/** Repetitions of concurrent changes: the first ones are spread by the connections that are opened for them. */
const ROUNDS = 6;

const AUDIT = someAudit("user.changed");

async function create(store: Store, fields: Partial<User> = {}): Promise<User> {
  const user = someUser(fields);
  expect(await store.users.createUser(user, undefined, someAudit("user.created", user.accountId))).toBe("created");
  return user;
}

/** A set-up with the code `setup`, of an account with this number. */
const setUpOf = (number: number, fields: object = {}) => ({
  codeHash: hash("setup"),
  at: 1_500,
  account: { id: `acc_${number}`, name: "Waterworks", createdAt: 1_500 },
  user: someUser({ accountId: `acc_${number}`, role: "admin" }),
  audit: someAudit("account.created", `acc_${number}`),
  ...fields,
});

async function actionsOf(store: Store, accountId = ACCOUNT): Promise<string[]> {
  return (await store.audit.listEntries(accountId, 100)).map(({ action }) => action);
}

/** Contract of stores for users and their codes. */
export function usersContract(harness: StoreHarness): void {
  describeDomain("users", harness, () => {
    test("are found by id, address and identity, and listed by account in order of creation", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.users.hasUsers()).toBe(false);
      const later = await create(store, { createdAt: 9, oidc: { issuer: "https://id.example", subject: "7" } });
      const earlier = await create(store, { createdAt: 3, passwordHash: undefined, lastSignInAt: 5, isDisabled: true });
      const other = await create(store, { accountId: "acc_2", email: "Jos\u0065\u0301@Example.com", role: "admin" });
      expect(await store.users.hasUsers()).toBe(true);
      expect(await store.users.findUser(later.id)).toEqual(later);
      expect(await store.users.findUserByEmail("jos\u00e9@EXAMPLE.com")).toEqual(other);
      expect(await store.users.findUserByIdentity("https://id.example", "7")).toEqual(later);
      expect(await store.users.findUserByIdentity("https://id.example", "8")).toBeUndefined();
      expect(await store.users.listUsers(ACCOUNT)).toEqual([earlier, later]);
      for (const text of ["usr_none", "", "\0", "usr\0"]) {
        expect(await store.users.findUser(text)).toBeUndefined();
        expect(await store.users.findUserByEmail(text)).toBeUndefined();
      }
    });

    test("an address and an identity belong to one user of the service, also when several are created at once", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const email = `same${round}@example.com`;
        const users = ["acc_1", "acc_2", "acc_1", "acc_2"].map((accountId, index) =>
          someUser({ accountId, email: index < 2 ? email : email.toUpperCase() }),
        );
        const results = await Promise.all(users.map((user) => store.users.createUser(user, undefined, AUDIT)));
        expect(results.toSorted()).toEqual(["created", "taken", "taken", "taken"]);
      }
      await create(store, { oidc: { issuer: "i", subject: "s" } });
      const double = someUser({ oidc: { issuer: "i", subject: "s" } });
      expect(await store.users.createUser(double, undefined, AUDIT)).toBe("taken");
      // What was refused is not in the audit log.
      expect((await actionsOf(store)).filter((action) => action === "user.changed")).toHaveLength(ROUNDS);
      await expect(store.users.createUser(someUser({ accountId: "acc_none" }), undefined, AUDIT)).rejects.toThrow();
    });

    test("are at most as many as the account may have, also if they are created at once", async () => {
      await using store = await openWithAccounts(harness);
      const add = (accountId: string) =>
        store.users.createUser(someUser({ accountId }), undefined, someAudit("user.created", accountId), 3);
      const results = await Promise.all([1, 2, 3, 4, 5, 6].map(() => add(ACCOUNT)));
      expect(results.toSorted()).toEqual(["created", "created", "created", "too_many", "too_many", "too_many"]);
      expect(await store.users.listUsers(ACCOUNT)).toHaveLength(3);
      expect(await actionsOf(store)).toHaveLength(3);
      expect(await add("acc_2")).toBe("created");
    });

    test("a change is stored with its entry of the audit log, and only for a user of the account", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      expect(await store.users.changeUser(ACCOUNT, user.id, { name: "Jo", role: "operator" }, AUDIT)).toBe("changed");
      expect(await store.users.changeUser("acc_2", user.id, { role: "admin" }, AUDIT)).toBe("unknown");
      expect(await store.users.removeUser("acc_2", user.id, AUDIT)).toBe("unknown");
      expect(await store.users.changeUser(ACCOUNT, "usr_none", {}, AUDIT)).toBe("unknown");
      expect(await store.users.findUser(user.id)).toEqual({ ...user, name: "Jo", role: "operator" });
      await store.users.recordSignIn(user.id, 77);
      expect(await store.users.findUser(user.id)).toMatchObject({ lastSignInAt: 77 });
      expect(await store.users.removeUser(ACCOUNT, user.id, someAudit("user.removed"))).toBe("changed");
      expect(await store.users.findUser(user.id)).toBeUndefined();
      expect(await actionsOf(store)).toEqual(["user.removed", "user.changed", "user.created"]);
      expect(await store.audit.listEntries(ACCOUNT, 1)).toMatchObject([someAudit("user.removed")]);
    });

    test("an address is changed to one that nobody else has, and found by it", async () => {
      await using store = await openWithAccounts(harness);
      const [user, other] = [someUser({ email: "jane@example.com" }), someUser({ email: "joe@example.com" })];
      for (const each of [user, other]) await store.users.createUser(each, undefined, someAudit("user.created"));
      const change = (email: string) => store.users.changeUser(ACCOUNT, user.id, { email }, someAudit("user.changed"));
      expect(await change("JOE@example.com")).toBe("email_taken");
      expect(await store.users.findUser(user.id)).toMatchObject({ email: "jane@example.com" });
      for (const email of ["Jane@Example.com", "Jane@Married.example"]) expect(await change(email)).toBe("changed");
      expect(await store.users.findUserByEmail("jane@married.example")).toMatchObject({ id: user.id });
      expect(await store.users.findUserByEmail("jane@example.com")).toBeUndefined();
    });

    test("the last local admin stays, and somebody invited, disabled or of another account does not count", async () => {
      await using store = await openWithAccounts(harness);
      const admin = await create(store, { role: "admin" });
      await create(store, { role: "admin", passwordHash: undefined });
      await create(store, { role: "admin", isDisabled: true });
      await create(store, { role: "admin", accountId: "acc_2" });
      await create(store, { role: "operator" });
      for (const change of [{ role: "operator" }, { isDisabled: true }] as const)
        expect(await store.users.changeUser(ACCOUNT, admin.id, change, AUDIT)).toBe("last_admin");
      expect(await store.users.removeUser(ACCOUNT, admin.id, AUDIT)).toBe("last_admin");
      expect(await store.users.findUser(admin.id)).toEqual(admin);
      expect(await store.users.changeUser(ACCOUNT, admin.id, { passwordHash: "$new" }, AUDIT)).toBe("changed");
      await create(store, { role: "admin" });
      expect(await store.users.removeUser(ACCOUNT, admin.id, AUDIT)).toBe("changed");
    });

    test("a change of one's own password is refused once the password is another, or the session has ended", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      const session = hash("session");
      const open = async (checked: User): Promise<void> => {
        const opened = { session: someSession(checked), hash: session, user: checked, replaces: undefined };
        expect(await store.userSessions.openSession({ ...opened, audit: someAudit("session.opened") })).toBe(true);
      };
      const proof = { sessionHash: session, passwordHash: user.passwordHash };
      const change = (passwordHash: string, proved = proof) =>
        store.users.changeUser(ACCOUNT, user.id, { passwordHash }, someAudit("password.changed"), { proof: proved });
      expect(await change("$without")).toBe("stale");
      await open(user);
      expect(await change("$other", { ...proof, passwordHash: "$other" })).toBe("stale");
      await store.users.issueCode(someCode("reset", user), hash("code"), undefined);
      const acceptance = { codeHash: hash("code"), at: 1_500, passwordHash: "$reset", name: undefined, audit: AUDIT };
      const reset = await store.users.acceptCode(acceptance);
      expect(await change("$thief")).toBe("stale");
      expect(await store.users.findUser(user.id)).toMatchObject({ passwordHash: "$reset" });
      await open(reset!);
      const fresh = { ...proof, passwordHash: "$reset" };
      const results = await Promise.all(["$one", "$two", "$three"].map((each) => change(each, fresh)));
      expect(results.toSorted()).toEqual(["changed", "stale", "stale"]);
      expect((await actionsOf(store)).filter((action) => action === "password.changed")).toHaveLength(1);
    });

    test("admins who are demoted, disabled and removed at once: one stays", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const admins = [];
        for (let number = 0; number < 4; number++) admins.push(await create(store, { role: "admin" }));
        const results = await Promise.all([
          ...admins.slice(0, 2).map(({ id }) => store.users.removeUser(ACCOUNT, id, AUDIT)),
          store.users.changeUser(ACCOUNT, admins[2]!.id, { role: "viewer" }, AUDIT),
          store.users.changeUser(ACCOUNT, admins[3]!.id, { isDisabled: true }, AUDIT),
        ]);
        // From the second round on there is the admin of the round before.
        expect(results.filter((result) => result === "last_admin")).toHaveLength(round === 0 ? 1 : 0);
        expect((await store.users.listUsers(ACCOUNT)).filter(isLocalAdmin)).toHaveLength(1);
      }
    });
  });

  describeDomain("one-time codes", harness, () => {
    test("an invitation lets its user choose a password once", async () => {
      await using store = await openWithAccounts(harness);
      const user = someUser({ passwordHash: undefined });
      const code = someCode("invitation", user);
      expect(await store.users.createUser(user, { code, hash: hash("code") }, AUDIT)).toBe("created");
      expect(await store.users.findCode(hash("code"))).toEqual(code);
      const acceptance = { codeHash: hash("code"), at: 1_500, passwordHash: "$new", name: "Jane", audit: AUDIT };
      expect(await store.users.acceptCode({ ...acceptance, codeHash: hash("other") })).toBeUndefined();
      expect(await store.users.acceptCode({ ...acceptance, at: 2_000 })).toBeUndefined();
      const expected = { ...user, passwordHash: "$new", name: "Jane" };
      const results = await Promise.all([1, 2, 3].map(() => store.users.acceptCode(acceptance)));
      expect(results.filter((result) => result !== undefined)).toEqual([expected]);
      expect(await store.users.findUser(user.id)).toEqual(expected);
      expect(await store.users.findCode(hash("code"))).toEqual({ ...code, usedAt: 1_500 });
    });

    test("of one user that are issued together: one stays valid, and a change of password ends it too", async () => {
      await using store = await openWithAccounts(harness);
      const user = await create(store);
      for (let round = 0; round < ROUNDS; round++) {
        const hashes = [1, 2, 3, 4].map((number) => hash(`${round} ${number}`));
        await Promise.all(hashes.map((each) => store.users.issueCode(someCode("reset", user), each, undefined)));
        const found = await Promise.all(hashes.map((each) => store.users.findCode(each)));
        expect(found.filter((each) => each !== undefined)).toHaveLength(1);
      }
      expect(await store.users.changeUser(ACCOUNT, user.id, { isDisabled: true }, AUDIT)).toBe("changed");
      const issueLate = () => store.users.issueCode(someCode("reset", user), hash("late"), someAudit("user.reset"));
      expect(await issueLate()).toBe("disabled");
      expect(await store.users.findCode(hash("late"))).toBeUndefined();
      await store.users.removeUser(ACCOUNT, user.id, AUDIT);
      expect(await issueLate()).toBe("unknown");
      expect((await actionsOf(store)).filter((action) => action === "user.reset")).toEqual([]);
    });

    test("that are issued while their user is disabled or removed are not usable afterwards", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const [disabled, removed] = [await create(store), await create(store)];
        const issue = (user: User) => store.users.issueCode(someCode("reset", user), hash(user.id), undefined);
        const [ofDisabled, , ofRemoved] = await Promise.all([
          issue(disabled),
          store.users.changeUser(ACCOUNT, disabled.id, { isDisabled: true }, AUDIT),
          issue(removed),
          store.users.removeUser(ACCOUNT, removed.id, AUDIT),
        ]);
        expect(["issued", "disabled"]).toContain(ofDisabled);
        expect(["issued", "unknown"]).toContain(ofRemoved);
        await store.users.changeUser(ACCOUNT, disabled.id, { isDisabled: false }, AUDIT);
        for (const { id } of [disabled, removed]) expect(await store.users.findCode(hash(id))).toBeUndefined();
      }
    });

    test("a set-up code makes the first account and its admin, once", async () => {
      await using store = await harness.open();
      await store.users.issueCode(someCode("setup", undefined), hash("old"), undefined);
      await store.users.issueCode(someCode("setup", undefined), hash("setup"), undefined);
      for (const refused of [{ codeHash: hash("old") }, { at: 2_000 }, { account: undefined }])
        expect(await store.users.setUp(setUpOf(0, refused))).toBe("code_not_usable");
      const results = await Promise.all([1, 2, 3, 4, 5].map((number) => store.users.setUp(setUpOf(number))));
      expect(results.toSorted()).toEqual([...Array<string>(4).fill("code_not_usable"), "done"]);
      expect(await store.accounts.listAccounts()).toHaveLength(1);
      expect(await actionsOf(store, `acc_${results.indexOf("done") + 1}`)).toEqual(["account.created"]);
      await store.users.issueCode(someCode("setup", undefined), hash("second"), undefined);
      expect(await store.users.setUp(setUpOf(6, { codeHash: hash("second") }))).toBe("users_exist");
      expect(await store.accounts.listAccounts()).toHaveLength(1);
    });

    test("a set-up code of an account makes an admin of that one alone", async () => {
      await using store = await openWithAccounts(harness);
      const taken = await create(store, { accountId: "acc_2" });
      await store.users.issueCode(someCode("setup", undefined, { accountId: ACCOUNT }), hash("setup"), AUDIT);
      const setUp = { codeHash: hash("setup"), at: 1_500, account: undefined, audit: AUDIT };
      const user = someUser({ role: "admin" });
      expect(await store.users.setUp({ ...setUp, user: { ...user, accountId: "acc_2" } })).toBe("code_not_usable");
      const account = { id: "acc_3", name: "x", createdAt: 1 };
      expect(await store.users.setUp({ ...setUp, account, user: { ...user, accountId: "acc_3" } })).toBe(
        "code_not_usable",
      );
      expect(await store.users.setUp({ ...setUp, user: { ...user, email: taken.email } })).toBe("email_taken");
      expect(await store.users.setUp({ ...setUp, user })).toBe("done");
      expect(await store.users.listUsers(ACCOUNT)).toEqual([user]);
    });
  });
}
