import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Role } from "../../src/control-plane/core/people/roles.ts";
import { PasswordHasher } from "../../src/control-plane/accounts/password-hasher.ts";
import { createCode } from "../../src/control-plane/accounts/one-time-link.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { type ApiClient, apiClient, type ApiResponse } from "../support/api-client.ts";
import { Browser } from "../support/browser.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../support/control-plane.ts";
import { SOME_REVISION } from "../support/fleets/held-rollout.ts";

/*
 * A person has sessions, keys of log-ins, and keys that these have made. None of them gives the person what another one of them
 * may not have: a second pair of eyes, or access after it has ended.
 */

const PASSWORD = "a long way to the pump house";
const OTHER_PASSWORD = "rain over the reservoir today";

let control: ControlPlane;
let passwordHash: string;
beforeAll(async () => {
  control = await startControlPlane({ config: { enrolment_rate_limit_per_minute: 10_000 } });
  passwordHash = await new PasswordHasher().hash(PASSWORD, { source: "test", goesFirst: false });
});
// Disposing also checks that every answer fits the document.
afterAll(() => control[Symbol.asyncDispose]());

interface Person {
  readonly id: string;
  readonly browser: Browser;
  /** As that of `edgectl login`. */
  readonly login: ApiClient;
  readonly loginKeyId: string;
}

async function somePerson(account: TestAccount, role: Role): Promise<Person> {
  const { cookie, user } = await control.session(account, { role, passwordHash });
  const browser = new Browser(control, cookie);
  const started = await browser.call("POST", "/v1/device-logins", { client_name: "edgectl on test" });
  const decision = { decision: "approve", role };
  const path = `/v1/device-logins/${String(started.body["user_code"])}`;
  expect(await browser.call("POST", path, decision)).toMatchObject({ status: 200 });
  const { body } = await browser.call("POST", "/v1/device-logins/token", { device_code: started.body["device_code"] });
  const login = apiClient(control, { apiKey: String(body["api_key"]) });
  return { id: user.id, browser, login, loginKeyId: String(body["key_id"]) };
}

interface MadeKey {
  readonly id: string;
  readonly client: ApiClient;
  readonly body: Record<string, unknown>;
}

function madeKey({ status, body }: ApiResponse): MadeKey {
  expect(status, JSON.stringify(body)).toBe(201);
  const key = body["key"] as Record<string, unknown>;
  return { id: String(key["id"]), client: apiClient(control, { apiKey: String(body["api_key"]) }), body: key };
}

const isAlive = async (client: ApiClient): Promise<boolean> => (await client.get("/v1/session")).status === 200;

const inS = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

/** A fleet that requires approval, with a revision. */
async function someFleet(account: TestAccount): Promise<string> {
  const name = `fleet-${randomUUID()}`;
  const api = apiClient(control, account);
  const fleet = { name, selector: "*", apps: ["kiosk-ui"], strategy: { requires_approval: true } };
  expect((await api.post("/v1/fleets", fleet)).status).toBe(201);
  expect((await api.post(`/v1/fleets/${name}/revisions`, SOME_REVISION)).status).toBe(201);
  return `/v1/fleets/${name}`;
}

/** Makes a rollout, and returns the path of its approval. */
async function rollOut(fleet: string, by: Pick<ApiClient, "post">): Promise<string> {
  const { body } = await by.post(`${fleet}/rollouts`, {});
  expect(body).toMatchObject({ state: "awaiting_approval" });
  return `${fleet}/rollouts/${String(body["id"])}/approve`;
}

describe("approval", () => {
  const SAME = { status: 403, body: { code: "ApprovalBySameUser" } };

  test("is not given by another credential of who made the rollout", async () => {
    const account = await control.account();
    const fleet = await someFleet(account);
    const ada = await somePerson(account, "operator");
    const bob = await somePerson(account, "operator");
    const inBrowser = (path: string, body: unknown) => ada.browser.call("POST", path, body);
    const bySession = await rollOut(fleet, { post: inBrowser });
    expect(await ada.login.post(bySession, undefined)).toMatchObject(SAME);
    expect(await inBrowser(bySession, undefined)).toMatchObject(SAME);
    const byLogin = await rollOut(fleet, ada.login);
    expect(await inBrowser(byLogin, undefined)).toMatchObject(SAME);
    const second = await somePerson(account, "operator");
    expect(await second.browser.call("POST", byLogin, undefined)).toMatchObject({ status: 200 });
    const again = await rollOut(fleet, ada.login);
    expect(await bob.login.post(again, undefined)).toMatchObject({
      status: 200,
      body: { created_by: { kind: "key", origin: ada.id }, approved_by: { kind: "key", origin: bob.id } },
    });
  });

  test("is not given by keys that who made the rollout has made, whoever they belong to", async () => {
    const account = await control.account();
    const fleet = await someFleet(account);
    const ada = await somePerson(account, "admin");
    const body = { name: "CI", role: "admin" };
    const ofAccount = madeKey(await ada.browser.call("POST", "/v1/api-keys", { ...body, belongs_to: "account" }));
    const child = madeKey(await ofAccount.client.post("/v1/api-keys", body));
    const byLogin = madeKey(await ada.login.post("/v1/api-keys", body));
    const approve = await rollOut(fleet, { post: (path, request) => ada.browser.call("POST", path, request) });
    for (const { client } of [ofAccount, child, byLogin])
      expect(await client.post(approve, undefined)).toMatchObject(SAME);
    const byChild = await rollOut(fleet, child.client);
    expect(await ada.login.post(byChild, undefined)).toMatchObject(SAME);
    // Nor by one of a line of keys that begins on the server's command line.
    const root = apiClient(control, account);
    const ofRoot = madeKey(await root.post("/v1/api-keys", body));
    const byRoot = await rollOut(fleet, root);
    expect(await ofRoot.client.post(byRoot, undefined)).toMatchObject(SAME);
    expect(await ada.login.post(byRoot, undefined)).toMatchObject({ status: 200 });
  });

  test("is waived by admins alone, in a rollout or in the fleet", async () => {
    const account = await control.account();
    const fleet = await someFleet(account);
    const ada = await somePerson(account, "operator");
    const admin = await somePerson(account, "admin");
    const waived = { strategy: { requires_approval: false } };
    const refused = { status: 403, body: { code: "Forbidden", details: { permission: "fleets.waive_approval" } } };
    expect(await ada.login.post(`${fleet}/rollouts`, waived)).toMatchObject(refused);
    expect(await ada.login.patch(fleet, waived)).toMatchObject(refused);
    expect(await ada.login.patch(fleet, { selector: "role=kiosk", ...waived })).toMatchObject(refused);
    expect((await ada.login.get(fleet)).body).toMatchObject({ selector: "*", strategy: { requires_approval: true } });
    // What does not waive it is the operator's.
    expect(await ada.login.patch(fleet, { strategy: { requires_approval: true, attempts: 3 } })).toMatchObject({
      status: 200,
    });
    expect(await admin.login.post(`${fleet}/rollouts`, { ...waived, start: false })).toMatchObject({ status: 201 });
    expect(await admin.login.patch(fleet, waived)).toMatchObject({ status: 200 });
    expect(await ada.login.post(`${fleet}/rollouts`, waived)).toMatchObject({ status: 201 });
  });

  test("is not avoided with a plan from before the fleet required it, nor with one that says so", async () => {
    const account = await control.account();
    const fleet = await someFleet(account);
    const ada = await somePerson(account, "operator");
    const admin = await somePerson(account, "admin");
    const waived = { strategy: { requires_approval: false } };
    const refused = { status: 403, body: { code: "Forbidden", details: { permission: "fleets.waive_approval" } } };
    const path = `${fleet}/rollouts`;
    expect(await ada.login.post(`${path}?dry_run=true&ask_devices=false`, waived)).toMatchObject(refused);
    await admin.login.patch(fleet, waived);
    const response = await fetch(`${control.url}${path}?dry_run=true&ask_devices=false`, {
      method: "POST",
      headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
      body: "{}",
    });
    const [, plan] = /"plan_id":"(pln_\w+)"/.exec(await response.text()) ?? [];
    await admin.login.patch(fleet, { strategy: { requires_approval: true } });
    expect(await ada.login.post(path, { plan_id: plan })).toMatchObject(refused);
    expect(await admin.login.post(path, { plan_id: plan, start: false })).toMatchObject({ status: 201 });
  });
});

describe("keys", () => {
  test("end no later than the key that made them, and prolong neither themselves nor others", async () => {
    const account = await control.account();
    const ada = await somePerson(account, "admin");
    const end = inS(3_600);
    const stolen = madeKey(
      await ada.browser.call("POST", "/v1/api-keys", { name: "stolen", role: "admin", expires_at: end }),
    );
    const patch = (id: string, expires_at: number | null) => stolen.client.patch(`/v1/api-keys/${id}`, { expires_at });
    const tooLate = { status: 422, body: { code: "InvalidRequest" } };
    expect(await patch(stolen.id, null)).toMatchObject(tooLate);
    expect(await patch(stolen.id, end + 1)).toMatchObject(tooLate);
    const create = (fields: object) => stolen.client.post("/v1/api-keys", { name: "child", role: "admin", ...fields });
    expect(await create({ expires_at: end + 1 })).toMatchObject(tooLate);
    expect(await create({ belongs_to: "account" })).toMatchObject(tooLate);
    const child = madeKey(await create({}));
    expect(child.body).toMatchObject({ expires_at: end, created_by: stolen.id, belongs_to: "person", person: ada.id });
    const grandchild = madeKey(await child.client.post("/v1/api-keys", { name: "grandchild", role: "admin" }));
    expect(grandchild.body).toMatchObject({ expires_at: end, created_by: child.id });
    // Nor does a key that never expires prolong them beyond what made them.
    const root = apiClient(control, account);
    expect(await root.patch(`/v1/api-keys/${grandchild.id}`, { expires_at: null })).toMatchObject({
      status: 200,
      body: { expires_at: end },
    });
    // Their end comes nearer with that of what made them.
    const sooner = inS(60);
    await root.patch(`/v1/api-keys/${stolen.id}`, { expires_at: sooner });
    const ends = await Promise.all(
      [child, grandchild].map(async ({ client }) => (await client.get("/v1/session")).body["expires_at"]),
    );
    expect(ends).toEqual([sooner, sooner]);
  });

  test("are revoked with the key that made them", async () => {
    const account = await control.account();
    const root = apiClient(control, account);
    const body = { name: "line", role: "admin" };
    const stolen = madeKey(await root.post("/v1/api-keys", body));
    const child = madeKey(await stolen.client.post("/v1/api-keys", body));
    const grandchild = madeKey(await child.client.post("/v1/api-keys", { ...body, role: "viewer" }));
    expect(await isAlive(grandchild.client)).toBe(true);
    expect((await root.delete(`/v1/api-keys/${stolen.id}`)).status).toBe(204);
    expect(await Promise.all([stolen, child, grandchild].map(({ client }) => isAlive(client)))).toEqual([
      false,
      false,
      false,
    ]);
    expect(await isAlive(root)).toBe(true);
  });

  /** How an admin's access ends, by the admin or by others. */
  const ENDS: Readonly<Record<string, (person: Person, root: ApiClient, accountId: string) => Promise<unknown>>> = {
    "changes the password": ({ browser }) =>
      browser.call("PUT", "/v1/session/password", { current_password: PASSWORD, password: OTHER_PASSWORD }),
    "gets another password": async ({ id }, _root, accountId) => {
      const { code, hash, secret } = createCode(systemClock, "reset", { accountId, userId: id });
      await control.store.users.issueCode(code, hash, undefined);
      return new Browser(control).call("POST", "/v1/invitations", { code: secret, password: OTHER_PASSWORD });
    },
    "is removed": ({ id }, root) => root.delete(`/v1/users/${id}`),
    "is disabled": ({ id }, root) => root.patch(`/v1/users/${id}`, { disabled: true }),
    "may do less": ({ id }, root) => root.patch(`/v1/users/${id}`, { role: "viewer" }),
  };

  test.each(Object.keys(ENDS))("that a person's sessions and keys have made end when the person %s", async (how) => {
    const account = await control.account();
    const root = apiClient(control, account);
    // So that it is not the last admin.
    await control.session(account, { passwordHash });
    const ada = await somePerson(account, "admin");
    const other = await somePerson(account, "admin");
    const body = { name: "backdoor", role: "admin" };
    const inSession = madeKey(await ada.browser.call("POST", "/v1/api-keys", body));
    expect(inSession.body).toMatchObject({ belongs_to: "person", person: ada.id, created_by: ada.id });
    const byLogin = madeKey(await ada.login.post("/v1/api-keys", body));
    const byKey = madeKey(await byLogin.client.post("/v1/api-keys", body));
    const ofAccount = madeKey(await ada.browser.call("POST", "/v1/api-keys", { ...body, belongs_to: "account" }));
    expect(ofAccount.body).toMatchObject({ belongs_to: "account", person: ada.id });
    const othersKey = madeKey(await other.login.post("/v1/api-keys", body));

    expect(await ENDS[how]?.(ada, root, account.accountId)).toMatchObject({
      status: expect.toBeOneOf([200, 201, 204]),
    });
    const fallen = [ada.login, inSession.client, byLogin.client, byKey.client];
    expect(await Promise.all(fallen.map(isAlive))).toEqual([false, false, false, false]);
    // What belongs to the account goes on working, such as its CI, and so do other people.
    expect(await Promise.all([ofAccount.client, other.login, othersKey.client].map(isAlive))).toEqual([
      true,
      true,
      true,
    ]);
    const { entries } = (await root.get("/v1/audit?limit=20")).body as { entries: { details: object }[] };
    expect(entries.map(({ details }) => details)).toContainEqual(expect.objectContaining({ revoked_keys: 4 }));
  });

  test("that may do what a lower role may not end with the higher one, whatever their own role", async () => {
    const account = await control.account();
    const root = apiClient(control, account);
    await control.session(account, { passwordHash });
    const ada = await somePerson(account, "admin");
    const plain = madeKey(await ada.browser.call("POST", "/v1/api-keys", { name: "reads", role: "viewer" }));
    const shell = { name: "shell", role: "viewer", permissions: ["apps.exec", "apps.forward"] };
    const withExec = madeKey(await ada.browser.call("POST", "/v1/api-keys", shell));
    expect((await root.patch(`/v1/users/${ada.id}`, { role: "operator" })).status).toBe(200);
    expect(await Promise.all([plain, withExec].map(({ client }) => isAlive(client)))).toEqual([true, false]);
  });
});
