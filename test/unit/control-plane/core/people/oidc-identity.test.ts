import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decideIdentity,
  type Identity,
  type IdentityRules,
  readIdentity,
} from "../../../../../src/control-plane/core/people/oidc-identity.ts";
import { ROLES } from "../../../../../src/control-plane/core/people/roles.ts";
import type { User } from "../../../../../src/control-plane/core/people/user.ts";
import { someUser } from "../../../../support/control-plane/people.ts";

const ISSUER = "https://id.example.com";
const RULES: IdentityRules = {
  rolesClaim: "groups",
  roles: { viewer: ["staff"], operator: ["field", "desk"], admin: ["edge-admins"] },
  verifiedClaim: "email_verified",
  domains: ["example.com"],
  accountId: "acc_1",
};
const read = (claims: Record<string, unknown>, rules: Partial<IdentityRules> = {}): Identity =>
  readIdentity(ISSUER, "sub 1", claims, { ...RULES, ...rules });
const JANE = read({ email: "Jane@example.com", email_verified: true, groups: ["staff"], name: "Jane" });
const NOBODY = { byIdentity: undefined, byEmail: undefined };

describe("claims", () => {
  test("the highest role of all values counts, whether they are a list or one text", () => {
    expect(read({ groups: ["other", "staff", "desk"] }).role).toBe("operator");
    expect(read({ groups: "edge-admins" }).role).toBe("admin");
    expect(read({ groups: ["unknown"] }).role).toBeUndefined();
    expect(read({}).role).toBeUndefined();
    expect(read({ groups: { admin: true } }).role).toBeUndefined();
    expect(read({ groups: ["edge-admins"] }, { roles: undefined }).role).toBeUndefined();
  });

  test("a claim is found by its whole name first, then in nested objects", () => {
    const keycloak = { realm_access: { roles: ["field"] } };
    expect(read(keycloak, { rolesClaim: "realm_access.roles" }).role).toBe("operator");
    const whole = { "https://example.com/roles": ["staff"] };
    expect(read(whole, { rolesClaim: "https://example.com/roles" }).role).toBe("viewer");
    expect(read({ a: "x" }, { rolesClaim: "a.length" }).role).toBeUndefined();
    expect(read({}, { rolesClaim: "constructor.name" }).role).toBeUndefined();
  });

  test.each([
    [true, true],
    ["true", true],
    [1, true],
    ["1", true],
    [false, false],
    ["false", false],
    [undefined, false],
    [{}, false],
  ])("an address is verified by %j: %j", (value, expected) => {
    expect(read({ email: "a@example.com", email_verified: value }).isEmailVerified).toBe(expected);
  });

  test("anything that is no address is none, and a name is bounded", () => {
    for (const email of [7, "", "jane", "a b@example.com", `${"x".repeat(300)}@example.com`, ["jane@example.com"]])
      expect(read({ email }).email).toBeUndefined();
    expect(read({ name: "x".repeat(5_000) }).name).toHaveLength(128);
    for (const name of ["  ", "a\u202Eb", "a\nb", 7]) expect(read({ name }).name).toBeUndefined();
  });

  test("whatever a provider sends, reading it does not fail", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("email", "name", "groups", "email_verified", "x"), fc.anything()),
        (claims) => {
          const { role, name } = read(claims);
          expect(role === undefined || ROLES.includes(role)).toBe(true);
          expect(name === undefined || name.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});

describe("decisions", () => {
  test("a known identity signs in as its user, with the provider's role, whatever its address is now", () => {
    const byIdentity = someUser({ role: "viewer", email: "old@example.com" });
    const identity: Identity = { ...JANE, role: "operator" };
    const byEmail = someUser();
    expect(decideIdentity(identity, { byIdentity, byEmail }, RULES)).toEqual({
      kind: "known",
      user: byIdentity,
      role: "operator",
      // Another user has that of now.
      email: byIdentity.email,
    });
    const take = (fields: Partial<Identity>) =>
      decideIdentity({ ...identity, ...fields }, { byIdentity, byEmail: undefined }, { ...RULES, domains: [] });
    expect(take({})).toMatchObject({ email: JANE.email });
    expect(take({ isEmailVerified: false })).toMatchObject({ email: byIdentity.email });
    expect(take({ email: undefined })).toMatchObject({ email: byIdentity.email });
  });

  test("an invited user is linked by a verified address", () => {
    const byEmail = someUser({ passwordHash: undefined, role: "admin" });
    const noRoles = { ...RULES, roles: undefined };
    const users = { byIdentity: undefined, byEmail };
    expect(decideIdentity(JANE, users, RULES)).toEqual({ kind: "link", user: byEmail, role: "viewer" });
    expect(decideIdentity({ ...JANE, role: undefined }, users, noRoles)).toMatchObject({ kind: "link", role: "admin" });
  });

  test("somebody new becomes a user of the one account, with the role", () => {
    expect(decideIdentity(JANE, NOBODY, RULES)).toEqual({
      kind: "create",
      accountId: "acc_1",
      email: "Jane@example.com",
      role: "viewer",
    });
  });

  const identity = { issuer: ISSUER, subject: "another" };
  test.each<[string, Partial<Identity>, { byIdentity?: User; byEmail?: User }, Partial<IdentityRules>]>([
    ["no_role", { role: undefined }, {}, {}],
    ["no_role", { role: undefined }, { byIdentity: someUser() }, {}],
    ["domain", { email: "jane@example.com.evil.net" }, {}, {}],
    ["domain", { email: "jane@sub.example.com" }, { byIdentity: someUser() }, {}],
    ["no_email", { email: undefined }, {}, {}],
    ["no_email", { email: undefined }, {}, { domains: [] }],
    [
      "email_not_verified",
      { isEmailVerified: false },
      { byEmail: someUser({ passwordHash: undefined }) },
      { domains: [] },
    ],
    ["email_not_verified", { isEmailVerified: false }, { byIdentity: someUser() }, {}],
    ["not_invited", {}, {}, { accountId: undefined }],
    ["not_invited", { role: undefined }, {}, { roles: undefined }],
    ["has_password", {}, { byEmail: someUser() }, {}],
    ["other_identity", {}, { byEmail: someUser({ passwordHash: undefined, oidc: identity }) }, {}],
    ["disabled", {}, { byEmail: someUser({ passwordHash: undefined, isDisabled: true }) }, {}],
    ["disabled", {}, { byIdentity: someUser({ isDisabled: true }) }, {}],
  ])("%s: %j", (reason, fields, users, rules) => {
    const decision = decideIdentity({ ...JANE, ...fields }, { ...NOBODY, ...users }, { ...RULES, ...rules });
    expect(decision).toEqual({ kind: "refused", reason, user: users.byIdentity ?? users.byEmail });
  });

  test("without an identity that is known, an address that is not verified opens nothing", () => {
    const users = fc.option(
      fc
        .record({ passwordHash: fc.constantFrom(undefined, "$hash"), isDisabled: fc.boolean() })
        .map((fields) => someUser(fields)),
      { nil: undefined },
    );
    fc.assert(
      fc.property(users, fc.constantFrom(...ROLES), fc.boolean(), (byEmail, role, hasDomains) => {
        const unverified: Identity = { ...JANE, role, isEmailVerified: false };
        const rules = { ...RULES, domains: hasDomains ? RULES.domains : [] };
        expect(decideIdentity(unverified, { byIdentity: undefined, byEmail }, rules).kind).toBe("refused");
      }),
    );
  });
});
