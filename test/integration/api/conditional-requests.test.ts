import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { ConditionalApi, testConditionalResources } from "../../support/openapi/conditional-resources.ts";

/* Entity tags of what clients change: `If-Match` and `If-None-Match`. */

describe("resources", () => testConditionalResources(startControlPlane));

let control: ControlPlane;
let api: ConditionalApi;

beforeAll(async () => {
  control = await startControlPlane();
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

beforeEach(async () => {
  api = new ConditionalApi(control, await control.account());
});

test("what changes by itself is seen by If-None-Match, and is in nobody's way", async () => {
  const path = await api.asset();
  const before = await api.call("GET", path);
  await api.call("PUT", `${path}/tags`, { body: { role: "kiosk" } });
  expect((await api.call("GET", path, { "If-None-Match": before.etag })).status).toBe(200);
  expect((await api.call("PATCH", path, { body: { name: "x" }, "If-Match": before.etag })).status).toBe(200);
});

test("lists and other reads have tags too", async () => {
  for (const path of ["/v1/assets", "/v1/fleets", "/v1/api-keys", "/v1/users", "/v1/audit", "/v1/overview"]) {
    const { etag, body } = await api.call("GET", path);
    expect([path, etag]).toEqual([path, expect.stringMatching(/^"[\w-]{16}"$/)]);
    const again = await api.call("GET", path, { "If-None-Match": etag });
    // The key of these requests may be shown with another time of its last use.
    if (again.status === 304) expect(again.body).toBeUndefined();
    else expect([path, body]).not.toEqual([path, again.body]);
  }
});

test.each(["1", "abc", '"a" "b"', '"a",', "W/*"])("an If-Match that has no entity tags is refused: %s", async (tag) => {
  const path = `${await api.asset()}/tags`;
  const { status, body } = await api.call("PUT", path, { body: { role: "kiosk" }, "If-Match": tag });
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining("If-Match: must be")]);
  expect((await api.call("GET", path)).body).toEqual({});
});

test("a tag of another resource does not match", async () => {
  const [one, other] = [`${await api.asset()}/tags`, `${await api.asset()}/tags`];
  const { etag } = await api.call("GET", one);
  expect((await api.call("PUT", other, { body: { role: "kiosk" }, "If-Match": etag })).status).toBe(412);
});

test("a response that makes a resource has the tag for its first change", async () => {
  const body = { name: "kiosks", selector: "role=kiosk", apps: ["web"] };
  const made = await api.call("POST", "/v1/fleets", { body });
  const change = { body: { on_drift: "repair" }, "If-Match": made.etag };
  expect((await api.call("PATCH", "/v1/fleets/kiosks", change)).status).toBe(200);
});
