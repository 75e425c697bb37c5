import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { failure, JANE, OidcRig } from "../../support/oidc/oidc-rig.ts";
import { type Claims, Person } from "../../support/oidc/person.ts";
import { startProvider } from "../../support/oidc/provider-process.ts";
import { tempDir } from "../../support/temp-dir.ts";

const ROLES = { oidc_roles_claim: "groups", oidc_roles: { viewer: ["staff"], operator: ["desk"], admin: ["chiefs"] } };

let rig: OidcRig;
beforeAll(async () => {
  rig = await OidcRig.start();
});
afterAll(() => rig[Symbol.asyncDispose]());

describe("roles and domains of the provider", () => {
  beforeEach(async () => {
    const running = await rig.serve(ROLES);
    return () => running[Symbol.asyncDispose]();
  });

  test("the role is the provider's at each sign-in, and sessions with another role end", async () => {
    const user = await rig.create({ email: "jane@example.com", role: "viewer" });
    const jane = new Person();
    expect(await rig.signIn({ ...JANE, groups: ["staff", "desk"] }, jane)).toBe("/overview");
    expect(await rig.whoIs(jane)).toMatchObject({ role: "operator" });
    const [, linked] = await rig.control.store.audit.listEntries(rig.accountId, 2);
    expect(linked).toMatchObject({ action: "user.changed", details: { role: "operator", invited_role: "viewer" } });
    expect(await rig.signIn(JANE)).toBe("/overview");
    expect(await rig.whoIs(jane)).toMatchObject({ status: 401 });
    expect(await rig.control.store.users.findUser(user.id)).toMatchObject({ role: "viewer" });
  });

  test("an invitation says that the provider decides about the role", async () => {
    const { apiKey } = await rig.control.account();
    const response = await fetch(`${rig.base}/v1/users`, {
      method: "POST",
      headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({ email: "new@example.com", role: "viewer" }),
    });
    expect(await response.json()).toMatchObject({ user: { role: "viewer" }, role_decided_by: "Example ID" });
  });

  test("without a value that has a role nobody signs in, invited or known", async () => {
    await rig.create({ email: "jane@example.com" });
    expect(await rig.signIn({ ...JANE, groups: ["others"] })).toBe(failure("OidcNotAllowed", "no_role"));
    expect(await rig.signIn(JANE)).toBe("/overview");
    expect(await rig.signIn({ ...JANE, groups: undefined })).toBe(failure("OidcNotAllowed", "no_role"));
  });

  test("the last admin with a password stays one, whatever the provider says", async () => {
    const identity = { issuer: rig.provider.issuer, subject: "admin" };
    const admin = await rig.create({
      role: "admin",
      email: "admin@example.com",
      passwordHash: "$hash",
      oidc: identity,
    });
    const person = new Person();
    expect(await rig.signIn({ ...JANE, sub: "admin", email: "admin@example.com" }, person)).toBe("/overview");
    expect(await rig.whoIs(person)).toMatchObject({ role: "admin" });
    expect(rig.log.text()).toContain("the user is the last local admin");
    await rig.create({ role: "admin", passwordHash: "$hash" });
    expect(await rig.signIn({ ...JANE, sub: "admin", email: "admin@example.com" }, person)).toBe("/overview");
    expect(await rig.control.store.users.findUser(admin.id)).toMatchObject({ role: "viewer" });
  });
});

describe("people without an invitation", () => {
  test("become users of the one account, if their domain and their role allow it", async () => {
    // The account has to be there before the service is told of it.
    const directory = await tempDir();
    await using _directory = directory;
    const path = join(directory.path, "edge-rig.control.sqlite");
    const open = async () => openStore(path);
    {
      await using store = await open();
      await store.accounts.createAccount({ id: "acc_one", name: "One", createdAt: 1 });
    }
    const config = rig.configOf({ ...ROLES, oidc_account: "acc_one", oidc_domains: ["Example.com"] });
    await using running = await startControlPlane({ config, openStore: open });
    const jane = new Person();
    expect(await rig.signIn({ ...JANE, groups: ["desk"] }, jane)).toBe("/overview");
    expect(await rig.whoIs(jane)).toMatchObject({
      account: { id: "acc_one" },
      role: "operator",
      principal: { name: "Jane", email: "jane@example.com" },
    });
    expect(await running.store.users.listUsers("acc_one")).toMatchObject([
      { oidc: { issuer: rig.provider.issuer, subject: "jane" }, passwordHash: undefined },
    ]);
    // Several at once are one user.
    const joe: Claims = { ...JANE, sub: "joe", email: "joe@example.com", name: undefined };
    const results = await Promise.all(Array.from({ length: 4 }, () => rig.signIn(joe)));
    expect(results).toEqual(["/overview", "/overview", "/overview", "/overview"]);
    expect(await running.store.users.listUsers("acc_one")).toHaveLength(2);
    const stranger: Claims = { ...JANE, sub: "stranger", email: "x@example.com.evil.net" };
    expect(await rig.signIn(stranger)).toBe(failure("OidcNotAllowed", "domain"));
    expect(await rig.signIn({ ...stranger, email: "x@example.com", groups: [] })).toBe(
      failure("OidcNotAllowed", "no_role"),
    );
    expect(await rig.signIn({ ...stranger, email: undefined })).toBe(failure("OidcNotAllowed", "no_email"));
    expect(await running.store.users.listUsers("acc_one")).toHaveLength(2);
  });

  test("cannot sign in when the configuration names no account that exists", async () => {
    await using _running = await rig.serve({ ...ROLES, oidc_account: "acc_none" });
    expect(await rig.signIn(JANE)).toBe(failure("OidcNotAllowed", "not_invited"));
    expect(rig.log.text()).toContain("oidc_account names no account");
  });
});

describe("a provider that fails", () => {
  test("does not keep anybody from signing in otherwise, and works again without a restart", async () => {
    await using _running = await rig.serve({ oidc_issuer: "http://127.0.0.1:9" });
    expect(await rig.finish(new Person(), `${rig.base}/v1/oidc/start`)).toBe(failure("OidcFailed", "unreachable"));
    expect((await fetch(`${rig.base}/v1/sign-in`)).status).toBe(200);
    expect(rig.log.text()).toContain("the identity provider did not confirm a sign-in");
  });

  test("between the two requests", async () => {
    await using own = await startProvider(`${rig.base}/v1/oidc/callback`);
    await using _running = await rig.serve({ oidc_issuer: own.issuer });
    await rig.create({ email: "jane@example.com" });
    const jane = new Person();
    const url = await jane.passProvider(await rig.begin(jane), JANE, `${rig.base}/v1/oidc/callback`);
    await own.stop();
    expect(await rig.finish(jane, url)).toBe(failure("OidcFailed", "response"));
    expect(await rig.whoIs(jane)).toMatchObject({ status: 401 });
    expect(await rig.finish(jane, `${rig.base}/v1/oidc/start`)).toBe(failure("OidcFailed", "unreachable"));
  });

  test("by calling itself something else than the configuration does", async () => {
    await using _running = await rig.serve({ oidc_issuer: rig.provider.issuer.replace("127.0.0.1", "localhost") });
    expect(await rig.finish(new Person(), `${rig.base}/v1/oidc/start`)).toBe(failure("OidcFailed", "unreachable"));
    expect(rig.log.text()).toMatch(/issuer/);
  });

  test.each([
    [45, "/overview"],
    [-45, "/overview"],
    [-7_200, failure("OidcFailed", "response")],
  ])("by a clock that is %i s ahead", async (shift, expected) => {
    await using own = await startProvider(`${rig.base}/v1/oidc/callback`, shift);
    await using _running = await rig.serve({ oidc_issuer: own.issuer });
    await rig.create({ email: "jane@example.com" });
    expect(await rig.signIn(JANE)).toBe(expected);
  });
});

test("without a provider there is nothing at its addresses", async () => {
  await using own = await startControlPlane();
  for (const path of ["start", "callback"]) expect((await fetch(`${own.url}/v1/oidc/${path}`)).status).toBe(404);
  expect(await (await fetch(`${own.url}/v1/sign-in`)).json()).not.toHaveProperty("oidc");
});
