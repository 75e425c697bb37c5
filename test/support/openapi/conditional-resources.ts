import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ControlPlane, TestAccount } from "../control-plane.ts";
import { someProSim, someSuperSim } from "../control-plane/sims.ts";

interface Answer {
  readonly status: number;
  readonly etag: string | null;
  readonly body: unknown;
}

/** Sends requests of one account. */
export class ConditionalApi {
  readonly control: ControlPlane;
  readonly account: TestAccount;

  constructor(control: ControlPlane, account: TestAccount) {
    this.control = control;
    this.account = account;
  }

  /** Sends a request with a body, and with headers. */
  readonly call = async (
    method: string,
    path: string,
    { body, ...headers }: { readonly body?: unknown } & Readonly<Record<string, unknown>> = {},
  ): Promise<Answer> => {
    const response = await fetch(`${this.control.url}${path}`, {
      method,
      headers: {
        "X-API-Key": this.account.apiKey,
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
  };

  /** Makes an asset with SIMs. Returns its path. */
  async asset(): Promise<string> {
    const sims = { supersim: someSuperSim(), prosim: someProSim() };
    return `/v1/assets/${(await this.control.asset(this.account, sims)).uuid}`;
  }
}

/** Makes what an asset has at a path below its own. */
async function made(api: ConditionalApi, below: string, body: unknown): Promise<string> {
  const path = `${await api.asset()}/${below}`;
  expect(await api.call("PUT", path, { body })).toMatchObject({ status: 200 });
  return path;
}

interface ResourceCase {
  /** Makes the resource. Returns its path. */
  readonly make: (api: ConditionalApi) => Promise<string>;
  readonly method: "PATCH" | "PUT";
  /** Bodies of changes, each to something else. */
  readonly changes: readonly [unknown, unknown];
  readonly removes: boolean;
}

const RESOURCES: Readonly<Record<string, ResourceCase>> = {
  asset: { make: (api) => api.asset(), method: "PATCH", changes: [{ name: "one" }, { name: "two" }], removes: true },
  "SIMs of an asset": {
    make: (api) => api.asset(),
    method: "PATCH",
    changes: [{ status: "inactive" }, { status: "inactive", name: "two" }],
    removes: true,
  },
  tags: {
    make: async (api) => `${await api.asset()}/tags`,
    method: "PUT",
    changes: [{ role: "kiosk" }, { role: "van" }],
    removes: true,
  },
  "single tags": {
    make: async (api) => `${await api.asset()}/tags`,
    method: "PATCH",
    changes: [{ role: "kiosk" }, { role: "van" }],
    removes: true,
  },
  variables: {
    make: async (api) => `${await api.asset()}/variables`,
    method: "PUT",
    changes: [{ SITE: { value: "one" } }, { SITE: { value: "two" } }],
    removes: true,
  },
  "single variables": {
    make: async (api) => `${await api.asset()}/variables`,
    method: "PATCH",
    changes: [{ SITE: { value: "one", secret: true } }, { SITE: { value: "two", secret: true } }],
    removes: true,
  },
  hold: {
    make: (api) => made(api, "hold", { reason: "one" }),
    method: "PUT",
    changes: [{ reason: "two" }, { reason: "one", until: 4_000_000_000 }],
    removes: true,
  },
  allowance: {
    make: (api) => made(api, "sims/prosim/allowance", { bytes: 1_000 }),
    method: "PUT",
    changes: [{ bytes: 2_000 }, { bytes: 3_000 }],
    removes: true,
  },
  fleet: {
    make: async ({ call }) => {
      const body = { name: "kiosks", selector: "role=kiosk", apps: ["web"] };
      expect(await call("POST", "/v1/fleets", { body })).toMatchObject({ status: 201 });
      return "/v1/fleets/kiosks";
    },
    method: "PATCH",
    changes: [{ strategy: { max_parallel: 7 } }, { strategy: { max_parallel: 8 }, selector: "role=van" }],
    removes: true,
  },
  user: {
    make: async ({ control, account }) => `/v1/users/${(await control.session(account, { role: "viewer" })).user.id}`,
    method: "PATCH",
    changes: [{ role: "operator" }, { name: "Jo" }],
    removes: true,
  },
  "API key": {
    make: async ({ control, account }) => `/v1/api-keys/${(await control.key(account, [])).keyId}`,
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
  "agent settings": {
    make: async () => "/v1/agent-settings",
    method: "PATCH",
    changes: [{ operators_update: true }, { operators_update: true }],
    removes: false,
  },
  "data plan settings": {
    make: async () => "/v1/data-plan-settings",
    method: "PATCH",
    changes: [{ deployments: "wait" }, { deployments: "urgent" }],
    removes: false,
  },
};

/** Tests that every resource which clients change has an entity tag by which changes of it are conditional. */
export function testConditionalResources(start: () => Promise<ControlPlane>): void {
  let control: ControlPlane;
  let api: ConditionalApi;

  beforeAll(async () => {
    control = await start();
  });
  // Disposing also checks that every answer fits the document.
  afterAll(() => control[Symbol.asyncDispose]());
  beforeEach(async () => {
    api = new ConditionalApi(control, await control.account());
  });

  describe.each(Object.entries(RESOURCES))("%s", (_name, { make, method, changes: [one, other], removes }) => {
    test("a change of what somebody else has changed is refused with what is there now", async () => {
      const path = await make(api);
      const first = await api.call("GET", path);
      expect(first).toMatchObject({ status: 200, etag: expect.stringMatching(/^"[\w-]{16}\.[\w-]{16}"$/) });
      const changed = await api.call(method, path, { body: one, "If-Match": first.etag });
      expect(changed.status).toBe(200);
      const now = await api.call("GET", path);
      expect(changed.etag).toBe(now.etag);
      expect(now.etag).not.toBe(first.etag);

      const stale = [await api.call(method, path, { body: other, "If-Match": first.etag })];
      if (removes) stale.push(await api.call("DELETE", path, { "If-Match": first.etag }));
      for (const refused of stale) {
        expect(refused).toMatchObject({ status: 412, etag: now.etag });
        expect(refused.body).toMatchObject({ code: "PreconditionFailed", details: { current: now.body } });
      }
      expect(await api.call("GET", path)).toEqual(now);

      if (removes) {
        expect((await api.call("DELETE", path, { "If-Match": `"another", W/${now.etag}` })).status).toBe(204);
      } else expect((await api.call(method, path, { body: other, "If-Match": "*" })).status).toBe(200);
    });

    test("of two changes at once with the same tag exactly one is made", async () => {
      const path = await make(api);
      const { etag } = await api.call("GET", path);
      const answers = await Promise.all(
        [one, other, one, other].map((body) => api.call(method, path, { body, "If-Match": etag })),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(3);
    });

    test("a read of what has not changed has no body", async () => {
      const path = await make(api);
      const { etag } = await api.call("GET", path);
      expect(await api.call("GET", path, { "If-None-Match": `"another", ${etag}` })).toEqual({
        status: 304,
        etag,
        body: undefined,
      });
      await api.call(method, path, { body: one });
      const changed = await api.call("GET", path, { "If-None-Match": etag });
      expect(changed.status).toBe(200);
      expect(await api.call("HEAD", path, { "If-None-Match": changed.etag })).toMatchObject({ status: 304 });
    });
  });

  test.each([
    ["hold", { reason: "two" }],
    ["sims/prosim/allowance", { bytes: 1_000 }],
  ])("what is not there matches nothing, also where it was before: %s", async (below, body) => {
    const path = await made(api, below, body);
    const { etag } = await api.call("GET", path);
    expect(await api.call("DELETE", path, { "If-Match": "*" })).toMatchObject({ status: 204 });
    for (const tag of ["*", etag])
      for (const [method, sent] of [
        ["PUT", { body }],
        ["DELETE", {}],
      ] as const) {
        const { status, etag: now, body: refusal } = await api.call(method, path, { ...sent, "If-Match": tag });
        expect([status, now, refusal]).toMatchObject([412, null, { details: { current: null } }]);
      }
    expect((await api.call("GET", path)).status).toBe(404);
  });
}
