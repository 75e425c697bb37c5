import fc from "fast-check";
import { expect, test } from "vitest";
import { ROLES } from "../../../../../src/control-plane/core/people/roles.ts";
import {
  emailKey,
  isEmail,
  isLocalAdmin,
  removesLastAdmin,
  type User,
} from "../../../../../src/control-plane/core/people/user.ts";

const users = fc
  .array(
    fc.record({
      role: fc.constantFrom(...ROLES),
      passwordHash: fc.option(fc.constant("$argon2id$"), { nil: undefined }),
      isDisabled: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((list) =>
    list.map((fields, index): User => ({
      id: `usr_${index}`,
      accountId: "acc_1",
      email: `user${index}@example.com`,
      name: "",
      oidc: undefined,
      createdAt: 1,
      lastSignInAt: undefined,
      ...fields,
    })),
  );
const changes = fc.record({ role: fc.constantFrom(...ROLES), isDisabled: fc.boolean(), isRemoved: fc.boolean() });

test("an account that has a local admin keeps one, whatever is changed", () => {
  fc.assert(
    fc.property(users, fc.array(fc.tuple(fc.nat(5), changes), { maxLength: 20 }), (initial, steps) => {
      let list = initial;
      const hadAdmin = list.some(isLocalAdmin);
      for (const [index, { isRemoved, ...change }] of steps) {
        const user = list[index % Math.max(1, list.length)];
        if (!user) continue;
        const after = isRemoved ? undefined : { ...user, ...change };
        if (removesLastAdmin(list, user.id, after)) continue;
        list = list.flatMap((each) => (each.id === user.id ? (after ?? []) : each));
      }
      if (hadAdmin) expect(list.some(isLocalAdmin)).toBe(true);
    }),
  );
});

test("everybody but the last admin may be changed, and an unknown user is nobody's last", () => {
  fc.assert(
    fc.property(users, (list) => {
      const admins = list.filter(isLocalAdmin);
      for (const { id } of list)
        expect(removesLastAdmin(list, id, undefined)).toBe(admins.length === 1 && admins[0]?.id === id);
      expect(removesLastAdmin(list, "usr_none", undefined)).toBe(false);
    }),
  );
});

test("addresses that differ in case, spaces around them or composition are the same", () => {
  expect(emailKey(" Jane@Example.COM ")).toBe("jane@example.com");
  expect(emailKey("jos\u0065\u0301@example.com")).toBe(emailKey("jos\u00e9@EXAMPLE.com"));
  // A Greek accent, which is a space and a combining accent in that form.
  expect(emailKey(emailKey("\u0384"))).toBe(emailKey("\u0384"));
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(emailKey(emailKey(text))).toBe(emailKey(text));
    }),
  );
});

test.each([
  "",
  "jane",
  "@example.com",
  "jane@",
  "a b@example.com",
  "a@b@c",
  "a\u202e@example.com",
  `${"x".repeat(250)}@e.com`,
])("%j is no address", (text) => {
  expect(isEmail(text)).toBe(false);
});
