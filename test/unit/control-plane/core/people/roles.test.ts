import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isRole,
  permissionsOf,
  ROLE_PERMISSIONS,
  type RolePermission,
  ROLES,
} from "../../../../../src/control-plane/core/people/roles.ts";

const mayOnly = (permission: RolePermission) => ROLES.filter((role) => permissionsOf(role).has(permission));

test("each role may do more than the one before it", () => {
  for (const [rank, role] of ROLES.entries()) {
    const before = rank === 0 ? new Set<string>() : permissionsOf(ROLES[rank - 1]!);
    expect([...before].filter((permission) => !permissionsOf(role).has(permission as never))).toEqual([]);
    expect(permissionsOf(role).size).toBe(before.size + ROLE_PERMISSIONS[role].length);
  }
});

test("only the names of roles are roles", () => {
  fc.assert(fc.property(fc.string(), (text) => isRole(text) === (ROLES as readonly string[]).includes(text)));
  for (const name of ["__proto__", "constructor", "toString", "Admin", "admin "]) expect(isRole(name)).toBe(false);
});

test("what the contract gives to each role", () => {
  expect(mayOnly("assets.read")).toEqual(["viewer", "installer", "operator", "admin"]);
  expect(mayOnly("logs.read")).toEqual(["installer", "operator", "admin"]);
  expect(mayOnly("assets.register")).toEqual(["installer", "operator", "admin"]);
  expect(mayOnly("apps.deploy")).toEqual(["operator", "admin"]);
  expect(mayOnly("assets.connectivity")).toEqual(["operator", "admin"]);
  expect(mayOnly("assets.remove")).toEqual(["admin"]);
  expect(mayOnly("audit.read")).toEqual(["admin"]);
});
