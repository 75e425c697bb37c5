import fc from "fast-check";
import { expect, test } from "vitest";
import {
  actionsNamed,
  AUDIT_ACTIONS,
  type AuditAction,
  storableDetails,
} from "../../../../../src/control-plane/core/people/audit-actions.ts";
import { ENDPOINT_ACTIONS, findWithoutAction } from "../../../../../src/control-plane/core/people/endpoint-actions.ts";
import { ENDPOINT_PERMISSIONS } from "../../../../../src/control-plane/core/people/endpoint-permissions.ts";

const ACTIONS = Object.keys(AUDIT_ACTIONS) as AuditAction[];

test("actions are named noun.verb, and no fact is named as a secret is", () => {
  for (const action of ACTIONS) {
    expect(action).toMatch(/^[a-z]+(_[a-z]+)*\.[a-z]+$/);
    for (const fact of Object.keys(AUDIT_ACTIONS[action]))
      expect(fact).not.toMatch(/password|secret|token|api_key|^code|environment|auth|body|arguments/);
  }
});

test("of any details only listed facts of their kind are stored, clipped and well-formed", () => {
  fc.assert(
    fc.property(fc.constantFrom(...ACTIONS), fc.dictionary(fc.string(), fc.anything()), (action, details) => {
      const facts: Record<string, unknown> = { ...details, count: details["count"] };
      for (const name of Object.keys(AUDIT_ACTIONS[action])) facts[name] = Object.values(details)[0];
      const stored = storableDetails(action, facts);
      const listed = [...Object.keys(AUDIT_ACTIONS[action]), "count", "permission"];
      for (const [name, value] of Object.entries(stored)) {
        expect(listed).toContain(name);
        const texts = Array.isArray(value) ? value : [value];
        for (const text of texts) {
          if (typeof text !== "string") expect(["number", "boolean"]).toContain(typeof text);
          else {
            expect(text.length).toBeLessThanOrEqual(256);
            expect(text.isWellFormed() && !text.includes("\0")).toBe(true);
          }
        }
      }
      expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
    }),
  );
});

test("a name is one action, or with a final dot all that begin so", () => {
  expect(actionsNamed("key.created")).toEqual(["key.created"]);
  expect(actionsNamed("key.")).toEqual(["key.created", "key.changed", "key.revoked"]);
  for (const name of ["", "key", ".", "key.crea", "toString", "key.created."]) expect(actionsNamed(name)).toEqual([]);
});

test("each endpoint that changes something has an action, and no other", () => {
  const endpoints = Object.keys(ENDPOINT_PERMISSIONS).map((name) => {
    const [method = "", path = ""] = name.split(" ");
    return { method, path };
  });
  expect(findWithoutAction(endpoints)).toEqual([]);
  for (const name of Object.keys(ENDPOINT_ACTIONS)) expect(Object.keys(ENDPOINT_PERMISSIONS)).toContain(name);
});
