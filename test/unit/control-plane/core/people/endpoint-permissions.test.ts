import { expect, test } from "vitest";
import {
  ENDPOINT_PERMISSIONS,
  FIELD_PERMISSIONS,
  findUnlisted,
  requirementOf,
} from "../../../../../src/control-plane/core/people/endpoint-permissions.ts";
import { permissionsOf } from "../../../../../src/control-plane/core/people/roles.ts";

test("an endpoint that is not in the table is found, whatever its method", () => {
  const unlisted = [
    { method: "GET", path: "/v1/new" },
    { method: "PUT", path: "/v1/assets/:asset_id" },
    { method: "GET", path: "/assets/:asset_id/new" },
    { method: "GET", path: "/v1/constructor" },
  ];
  expect(findUnlisted(unlisted)).toEqual(unlisted.map(({ method, path }) => `${method} ${path}`));
  const listed = [
    { method: "HEAD", path: "/v1/assets" },
    { method: "GET", path: "/openapi.json" },
    { method: "GET", path: "/docs/" },
  ];
  expect(findUnlisted(listed)).toEqual([]);
});

/** Requirements that are no permission. */
const PRINCIPALS: ReadonlySet<string> = new Set(["public", "self", "session"]);

test("every permission of the table belongs to a role, and what fields need is more than their endpoint", () => {
  const known = permissionsOf("admin");
  for (const requirement of Object.values(ENDPOINT_PERMISSIONS))
    if (!PRINCIPALS.has(requirement)) expect(known).toContain(requirement);
  for (const [endpoint, fields] of Object.entries(FIELD_PERMISSIONS)) {
    const [method = "", path = ""] = endpoint.split(" ");
    expect(requirementOf(method, path)).toBeDefined();
    for (const permission of Object.values(fields)) {
      expect(known).toContain(permission);
      expect(permission).not.toBe(requirementOf(method, path));
    }
  }
});
