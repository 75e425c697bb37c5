import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";

/* Entity tags of what clients change: `If-Match` and `If-None-Match`. */

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

beforeEach(async () => {
  account = await control.account();
});

interface Answer {
  readonly status: number;
  readonly etag: string | null;
  readonly body: unknown;
}

async function call(
  method: string,
  path: string,
  { body, ...headers }: { readonly body?: unknown } & Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const response = await fetch(`${control.url}${path}`, {
    method,
    headers: {
      "X-API-Key": account.apiKey,
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(headers as Record<string, string>),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    etag: response.headers.get("etag"),
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
}

interface ResourceCase {
  /** Makes the resource. Returns its path. */
  readonly make: () => Promise<string>;
  readonly method: "PATCH" | "PUT";
  /** Bodies of changes, each to something else. */
  readonly changes: readonly [unknown, unknown];
  readonly removes: boolean;
}

const asset = async (): Promise<string> => {
  const { uuid } = await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() });
  return `/v1/assets/${uuid}`;
};

const RESOURCES: Readonly<Record<string, ResourceCase>> = {
  asset: { make: asset, method: "PATCH", changes: [{ name: "one" }, { name: "two" }], removes: true },
  "SIMs of an asset": {
    make: asset,
    method: "PATCH",
    changes: [{ status: "inactive" }, { status: "inactive", name: "two" }],
    removes: true,
  },
  tags: {
    make: async () => `${await asset()}/tags`,
    method: "PUT",
    changes: [{ role: "kiosk" }, { role: "van" }],
    removes: true,
  },
  "single tags": {
    make: async () => `${await asset()}/tags`,
    method: "PATCH",
    changes: [{ role: "kiosk" }, { role: "van" }],
    removes: true,
  },
  variables: {
    make: async () => `${await asset()}/variables`,
    method: "PUT",
    changes: [{ SITE: { value: "one" } }, { SITE: { value: "two" } }],
    removes: true,
  },
  "single variables": {
    make: async () => `${await asset()}/variables`,
    method: "PATCH",
    changes: [{ SITE: { value: "one", secret: true } }, { SITE: { value: "two", secret: true } }],
    removes: true,
  },
  fleet: {
    make: async () => {
      const body = { name: "kiosks", selector: "role=kiosk", apps: ["web"] };
      expect(await call("POST", "/v1/fleets", { body })).toMatchObject({ status: 201 });
      return "/v1/fleets/kiosks";
    },
    method: "PATCH",
    changes: [{ strategy: { max_parallel: 7 } }, { strategy: { max_parallel: 8 }, selector: "role=van" }],
    removes: true,
  },
  user: {
    make: async () => `/v1/users/${(await control.session(account, { role: "viewer" })).user.id}`,
    method: "PATCH",
    changes: [{ role: "operator" }, { name: "Jo" }],
    removes: true,
  },
  "API key": {
    make: async () => `/v1/api-keys/${(await control.key(account, [])).keyId}`,
    method: "PATCH",
    changes: [{ name: "one" }, { expires_at: 4_000_000_000 }],
    removes: true,
  },
  "enrolment settings": {
    make: async () => "/v1/enrolment-settings",
    method: "PATCH",
    changes: [{ auto_accept: true }, { auto_accept: true }],
    removes: false,
  },
  "data plan settings": {
    make: async () => "/v1/data-plan-settings",
    method: "PATCH",
    changes: [{ deployments: "wait" }, { deployments: "urgent" }],
    removes: false,
  },
};

describe.each(Object.entries(RESOURCES))("%s", (_name, { make, method, changes: [one, other], removes }) => {
  test("a change of what somebody else has changed is refused with what is there now", async () => {
    const path = await make();
    const first = await call("GET", path);
    expect(first).toMatchObject({ status: 200, etag: expect.stringMatching(/^"[\w-]{16}\.[\w-]{16}"$/) });
    const changed = await call(method, path, { body: one, "If-Match": first.etag });
    expect(changed.status).toBe(200);
    const now = await call("GET", path);
    expect(changed.etag).toBe(now.etag);
    expect(now.etag).not.toBe(first.etag);

    const stale = [await call(method, path, { body: other, "If-Match": first.etag })];
    if (removes) stale.push(await call("DELETE", path, { "If-Match": first.etag }));
    for (const refused of stale) {
      expect(refused).toMatchObject({ status: 412, etag: now.etag });
      expect(refused.body).toMatchObject({ code: "PreconditionFailed", details: { current: now.body } });
    }
    expect(await call("GET", path)).toEqual(now);

    if (removes) {
      expect((await call("DELETE", path, { "If-Match": `"another", W/${now.etag}` })).status).toBe(204);
    } else expect((await call(method, path, { body: other, "If-Match": "*" })).status).toBe(200);
  });

  test("of two changes at once with the same tag exactly one is made", async () => {
    const path = await make();
    const { etag } = await call("GET", path);
    const answers = await Promise.all(
      [one, other, one, other].map((body) => call(method, path, { body, "If-Match": etag })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(3);
  });

  test("a read of what has not changed has no body", async () => {
    const path = await make();
    const { etag } = await call("GET", path);
    expect(await call("GET", path, { "If-None-Match": `"another", ${etag}` })).toEqual({
      status: 304,
      etag,
      body: undefined,
    });
    await call(method, path, { body: one });
    const changed = await call("GET", path, { "If-None-Match": etag });
    expect(changed.status).toBe(200);
    expect(await call("HEAD", path, { "If-None-Match": changed.etag })).toMatchObject({ status: 304 });
  });
});

test("what changes by itself is seen by If-None-Match, and is in nobody's way", async () => {
  const path = await asset();
  const before = await call("GET", path);
  await call("PUT", `${path}/tags`, { body: { role: "kiosk" } });
  expect((await call("GET", path, { "If-None-Match": before.etag })).status).toBe(200);
  expect((await call("PATCH", path, { body: { name: "x" }, "If-Match": before.etag })).status).toBe(200);
});

test("lists and other reads have tags too", async () => {
  for (const path of ["/v1/assets", "/v1/fleets", "/v1/api-keys", "/v1/users", "/v1/audit", "/v1/overview"]) {
    const { etag, body } = await call("GET", path);
    expect([path, etag]).toEqual([path, expect.stringMatching(/^"[\w-]{16}"$/)]);
    const again = await call("GET", path, { "If-None-Match": etag });
    // The key of these requests may be shown with another time of its last use.
    if (again.status === 304) expect(again.body).toBeUndefined();
    else expect([path, body]).not.toEqual([path, again.body]);
  }
});

test.each(["1", "abc", '"a" "b"', '"a",', "W/*"])("an If-Match that has no entity tags is refused: %s", async (tag) => {
  const path = `${await asset()}/tags`;
  const { status, body } = await call("PUT", path, { body: { role: "kiosk" }, "If-Match": tag });
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining("If-Match: must be")]);
  expect((await call("GET", path)).body).toEqual({});
});

test("a tag of another resource does not match", async () => {
  const [one, other] = [`${await asset()}/tags`, `${await asset()}/tags`];
  const { etag } = await call("GET", one);
  expect((await call("PUT", other, { body: { role: "kiosk" }, "If-Match": etag })).status).toBe(412);
});

test("a response that makes a resource has the tag for its first change", async () => {
  const body = { name: "kiosks", selector: "role=kiosk", apps: ["web"] };
  const made = await call("POST", "/v1/fleets", { body });
  const change = { body: { on_drift: "repair" }, "If-Match": made.etag };
  expect((await call("PATCH", "/v1/fleets/kiosks", change)).status).toBe(200);
});
