import { expect, onTestFinished, test } from "vitest";
import { createCode } from "../../../src/control-plane/accounts/one-time-link.ts";
import { hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { apiClient } from "../../support/api-client.ts";
import { Browser } from "../../support/browser.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const PASSWORD = "a long way to the pump house";
const OTHER_PASSWORD = "rain over the reservoir today";

async function start(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const control = await startControlPlane({
    ...options,
    config: { enrolment_rate_limit_per_minute: 10_000, ...options.config },
  });
  onTestFinished(() => control[Symbol.asyncDispose]());
  return control;
}

async function setupCode({ store }: ControlPlane, accountId?: string): Promise<string> {
  const { code, hash, secret } = createCode(systemClock, "setup", { accountId });
  await store.users.issueCode(code, hash, undefined);
  return secret;
}

/** A service that is set up, with its admin in a browser. */
async function setUp(options: ControlPlaneOptions = {}) {
  const control = await start(options);
  const admin = new Browser(control);
  const body = {
    code: await setupCode(control),
    account_name: "Water works",
    email: "Ada@example.com",
    password: PASSWORD,
  };
  const response = await admin.call("POST", "/v1/setup", body);
  expect(response).toMatchObject({ status: 201 });
  return { control, admin, accountId: (response.body["account"] as { id: string }).id };
}

async function invite(admin: Browser, email: string, role: string): Promise<{ id: string; code: string }> {
  const { status, body } = await admin.call("POST", "/v1/users", { email, role });
  expect(status).toBe(201);
  const { user, invitation } = body as { user: { id: string }; invitation: { link: string } };
  return { id: user.id, code: invitation.link.split("code=")[1] ?? "" };
}

async function join(control: ControlPlane, admin: Browser, email: string, role: string) {
  const { id, code } = await invite(admin, email, role);
  const browser = new Browser(control);
  expect(await browser.call("POST", "/v1/invitations", { code, password: PASSWORD })).toMatchObject({ status: 201 });
  return { id, browser, email };
}

test("a set-up code makes the first account with its admin, who is signed in", async () => {
  const control = await start();
  const browser = new Browser(control);
  expect((await browser.call("GET", "/v1/sign-in")).body).toEqual({ set_up: true, secure: true });
  const code = await setupCode(control);
  const body = { code, account_name: "Water works", email: "Ada@example.com", password: PASSWORD };
  const { status, headers, body: session } = await browser.call("POST", "/v1/setup", body);
  expect(status).toBe(201);
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^edge_session=es_[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/),
  ]);
  expect(session).toMatchObject({
    principal: { kind: "user", email: "Ada@example.com", name: "Ada@example.com" },
    account: { name: "Water works" },
    role: "admin",
  });
  expect((await browser.call("GET", "/v1/session")).body).toEqual(session);
  expect((await browser.call("GET", "/v1/sign-in")).body).toMatchObject({ set_up: false });
  expect(await new Browser(control).call("POST", "/v1/setup", body)).toMatchObject({
    status: 409,
    body: { code: "SetupDone" },
  });
});

test("of several requests with one set-up code, one succeeds", async () => {
  const control = await start();
  const code = await setupCode(control);
  const responses = await Promise.all(
    ["a", "b", "c", "d", "e"].map((name) =>
      new Browser(control).call("POST", "/v1/setup", {
        code,
        account_name: name,
        email: `${name}@example.com`,
        password: PASSWORD,
      }),
    ),
  );
  expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409, 409]);
  expect(await control.store.accounts.listAccounts()).toHaveLength(1);
});

test("a set-up code of an account makes an admin of that account", async () => {
  const { control } = await setUp();
  const { accountId } = await control.account();
  const browser = new Browser(control);
  const body = { code: await setupCode(control, accountId), email: "bob@example.com", password: PASSWORD };
  expect(await browser.call("POST", "/v1/setup", body)).toMatchObject({
    status: 201,
    body: { account: { id: accountId }, role: "admin" },
  });
});

test("the set-up code of a service does not make a second account beside one of the command line", async () => {
  const control = await start();
  const code = await setupCode(control);
  const { accountId } = await control.account();
  const body = { code, account_name: "Water works", email: "ada@example.com", password: PASSWORD };
  const response = await new Browser(control).call("POST", "/v1/setup", body);
  expect(response).toMatchObject({ status: 409, body: { code: "SetupDone" } });
  expect(response.body["message"]).toContain(`edge-control setup-code --account ${accountId}`);
});

test("a set-up code is refused that is unknown, expired, or of a service that is set up", async () => {
  const clock = new FakeClock(Date.now());
  const control = await start({ clock });
  const send = async (code: string, fields: object = {}) =>
    new Browser(control).call("POST", "/v1/setup", {
      code,
      account_name: "x",
      email: "ada@example.com",
      password: PASSWORD,
      ...fields,
    });
  expect(await send("ec_wrong")).toMatchObject({ status: 404, body: { code: "SetupCodeUnknown" } });
  const code = await setupCode(control);
  expect(await send(code, { account_name: undefined })).toMatchObject({ status: 422 });
  expect(await send(code, { email: "ada" })).toMatchObject({ status: 422, body: { code: "InvalidRequest" } });
  expect(await send(code, { password: "password1234" })).toMatchObject({
    status: 422,
    body: { code: "WeakPassword", details: { problem: "common" } },
  });
  clock.pass(24 * 3_600_000 + 60_000);
  expect(await send(code)).toMatchObject({ status: 410, body: { code: "SetupCodeExpired" } });
});

test("signing in opens a new session, whatever cookie the browser had, and signing out ends it", async () => {
  const { control, admin } = await setUp();
  const credentials = { email: "ada@EXAMPLE.com", password: PASSWORD };
  const planted = "es_planted";
  const browser = new Browser(control, `edge_session=${planted}`);
  expect(await browser.call("POST", "/v1/session", credentials)).toMatchObject({
    status: 200,
    body: { role: "admin" },
  });
  const first = browser.cookies.get("edge_session") ?? "";
  expect(first).not.toBe(planted);
  expect(await new Browser(control, `edge_session=${planted}`).call("GET", "/v1/session")).toMatchObject({
    status: 401,
  });
  expect(await browser.call("POST", "/v1/session", credentials)).toMatchObject({ status: 200 });
  expect(browser.cookies.get("edge_session")).not.toBe(first);
  expect(await new Browser(control, `edge_session=${first}`).call("GET", "/v1/session")).toMatchObject({ status: 401 });
  const second = browser.cookies.get("edge_session") ?? "";
  expect(await browser.call("DELETE", "/v1/session")).toMatchObject({ status: 204 });
  expect(browser.cookies.has("edge_session")).toBe(false);
  expect(await new Browser(control, `edge_session=${second}`).call("GET", "/v1/session")).toMatchObject({
    status: 401,
  });
  expect(await admin.call("GET", "/v1/session")).toMatchObject({ status: 200 });
});

test("all failures to sign in look the same", async () => {
  const { control, admin } = await setUp();
  await invite(admin, "invited@example.com", "viewer");
  const { id } = await join(control, admin, "gone@example.com", "viewer");
  expect(await admin.call("PATCH", `/v1/users/${id}`, { disabled: true })).toMatchObject({
    status: 200,
    body: { state: "disabled" },
  });
  for (const email of ["ada@example.com", "nobody@example.com", "invited@example.com"]) {
    const { status, body } = await new Browser(control).call("POST", "/v1/session", {
      email,
      password: OTHER_PASSWORD,
    });
    expect({ status, code: body["code"] }, email).toEqual({ status: 401, code: "SignInFailed" });
  }
  const disabled = { email: "gone@example.com", password: PASSWORD };
  expect(await new Browser(control).call("POST", "/v1/session", disabled)).toMatchObject({ status: 401 });
});

test("a page of another site signs nobody in", async () => {
  const { control } = await setUp();
  const browser = new Browser(control);
  const credentials = { email: "ada@example.com", password: PASSWORD };
  const headers = { "Sec-Fetch-Site": "cross-site" };
  expect(await browser.call("POST", "/v1/session", credentials, headers)).toMatchObject({
    status: 403,
    body: { code: "CrossSiteRequest" },
  });
  expect(browser.cookies.size).toBe(0);
});

test("an invitation sets the password once, and a reset another one, which ends the sessions", async () => {
  const { control, admin } = await setUp();
  const { id, code } = await invite(admin, "bob@example.com", "operator");
  const bob = new Browser(control);
  const accept = (secret: string, password: string) => bob.call("POST", "/v1/invitations", { code: secret, password });
  expect(await accept("ec_wrong", PASSWORD)).toMatchObject({ status: 404, body: { code: "InvitationUnknown" } });
  expect(await accept(code, "bob@example.com")).toMatchObject({ status: 422, body: { code: "WeakPassword" } });
  expect(await accept(code, PASSWORD)).toMatchObject({ status: 201, body: { role: "operator" } });
  expect(await accept(code, PASSWORD)).toMatchObject({ status: 409, body: { code: "InvitationUsed" } });
  const old = bob.cookieHeader;
  const { body } = await admin.call("POST", `/v1/users/${id}/reset`);
  const { link } = body["reset"] as { link: string };
  expect(link).toContain(`${control.url}/#/invitation?code=`);
  expect(await bob.call("GET", "/v1/session")).toMatchObject({ status: 200 });
  expect(await accept(link.split("code=")[1] ?? "", OTHER_PASSWORD)).toMatchObject({ status: 201 });
  expect(await new Browser(control, old).call("GET", "/v1/session")).toMatchObject({ status: 401 });
  expect(await bob.call("GET", "/v1/session")).toMatchObject({ status: 200 });
});

test("an invitation has an end, and falls with its user", async () => {
  const clock = new FakeClock(Date.now());
  const { control, admin } = await setUp({ clock });
  const [late, removed] = [
    await invite(admin, "late@example.com", "viewer"),
    await invite(admin, "x@example.com", "viewer"),
  ];
  expect(await admin.call("DELETE", `/v1/users/${removed.id}`)).toMatchObject({ status: 204 });
  const accept = (code: string) => new Browser(control).call("POST", "/v1/invitations", { code, password: PASSWORD });
  expect(await accept(removed.code)).toMatchObject({ status: 404 });
  clock.pass(7 * 24 * 3_600_000);
  expect(await accept(late.code)).toMatchObject({ status: 410, body: { code: "InvitationExpired" } });
});

test("a person changes the password with the current one; other sessions end", async () => {
  const { control, admin } = await setUp();
  const other = new Browser(control);
  await other.call("POST", "/v1/session", { email: "ada@example.com", password: PASSWORD });
  const change = (current_password: string, password: string) =>
    admin.call("PUT", "/v1/session/password", { current_password, password });
  expect(await change(OTHER_PASSWORD, OTHER_PASSWORD)).toMatchObject({ status: 422, body: { code: "WrongPassword" } });
  expect(await change(PASSWORD, "short")).toMatchObject({ status: 422, body: { code: "WeakPassword" } });
  expect(await change(PASSWORD, OTHER_PASSWORD)).toMatchObject({ status: 204 });
  expect(await admin.call("GET", "/v1/session")).toMatchObject({ status: 200 });
  expect(await other.call("GET", "/v1/session")).toMatchObject({ status: 401 });
});

test("users are listed by page, and an address belongs to one of them", async () => {
  const { control, admin } = await setUp();
  for (const name of ["b", "c"]) await invite(admin, `${name}@example.com`, "viewer");
  expect(await admin.call("POST", "/v1/users", { email: "ADA@example.com", role: "viewer" })).toMatchObject({
    status: 409,
    body: { code: "EmailTaken" },
  });
  const first = await admin.call("GET", "/v1/users?limit=2");
  const { users, next_cursor } = first.body as { users: { email: string }[]; next_cursor: string };
  const second = await admin.call("GET", `/v1/users?limit=2&cursor=${next_cursor}`);
  const rest = second.body as { users: { email: string }[]; next_cursor: null };
  expect([...users, ...rest.users].map(({ email }) => email).toSorted()).toEqual([
    "Ada@example.com",
    "b@example.com",
    "c@example.com",
  ]);
  expect(rest.next_cursor).toBeNull();
  expect(await admin.call("GET", "/v1/users?cursor=x")).toMatchObject({ status: 422 });
  const stranger = new Browser(control, (await control.session(await control.account())).cookie);
  const { users: none } = (await stranger.call("GET", "/v1/users")).body as { users: unknown[] };
  expect(none).toHaveLength(1);
});

test("two admins who demote or remove each other at once leave one", async () => {
  const { control, admin } = await setUp();
  for (let round = 0; round < 5; round++) {
    const other = await join(control, admin, `admin${round}@example.com`, "admin");
    const own = (await admin.call("GET", "/v1/session")).body["principal"] as { id: string };
    const responses = await Promise.all([
      admin.call("PATCH", `/v1/users/${other.id}`, { role: "viewer" }),
      other.browser.call(
        round % 2 === 0 ? "PATCH" : "DELETE",
        `/v1/users/${own.id}`,
        round % 2 === 0 ? { disabled: true } : undefined,
      ),
    ]);
    const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b);
    // Refused as the last admin, or as somebody whose session has ended.
    expect(statuses[0]! < 300 && [401, 409].includes(statuses[1]!), String(statuses)).toBe(true);
    const users = await control.store.users.listUsers((await control.store.accounts.listAccounts())[0]!.id);
    expect(users.some(({ role, isDisabled }) => role === "admin" && !isDisabled)).toBe(true);
    if (responses[1].status < 300) return;
  }
});

test("the last admin cannot be demoted, disabled or removed, not by a key either", async () => {
  const { control, admin, accountId } = await setUp();
  const own = (await admin.call("GET", "/v1/session")).body["principal"] as { id: string };
  const key = apiClient(control, await control.key({ accountId, keyId: "", apiKey: "" }, []));
  for (const response of [
    await key.patch(`/v1/users/${own.id}`, { role: "operator" }),
    await key.patch(`/v1/users/${own.id}`, { disabled: true }),
    await key.delete(`/v1/users/${own.id}`),
  ])
    expect(response).toMatchObject({ status: 409, body: { code: "LastAdmin" } });
  expect(await key.patch(`/v1/users/${own.id}`, { name: "Ada" })).toMatchObject({ status: 200, body: { name: "Ada" } });
  expect(await admin.call("GET", "/v1/session")).toMatchObject({ status: 200 });
});

test("keys are created with a role, used, changed and revoked", async () => {
  const { control, admin } = await setUp();
  const created = await admin.call("POST", "/v1/api-keys", { name: "CI" });
  expect(created).toMatchObject({
    status: 201,
    body: { key: { role: "operator", expires_at: null, revoked_at: null } },
  });
  const { key, api_key } = created.body as { key: { id: string; created_by: string }; api_key: string };
  const client = apiClient(control, { apiKey: api_key });
  expect(await client.get("/v1/session")).toMatchObject({
    status: 200,
    body: { principal: { kind: "key", id: key.id, name: "CI" }, role: "operator", expires_at: null },
  });
  const later = 4_000_000_000;
  expect(await admin.call("PATCH", `/v1/api-keys/${key.id}`, { name: "CI 2", expires_at: later })).toMatchObject({
    status: 200,
    body: { name: "CI 2", expires_at: later, role: "operator" },
  });
  expect(await client.get("/v1/assets")).toMatchObject({ status: 200 });
  expect(await admin.call("PATCH", `/v1/api-keys/${key.id}`, { expires_at: 1 })).toMatchObject({ status: 422 });
  expect(await admin.call("PATCH", `/v1/api-keys/${key.id}`, {})).toMatchObject({ status: 422 });
  expect(await admin.call("PATCH", `/v1/api-keys/${key.id}`, { role: "admin" })).toMatchObject({ status: 422 });
  for (let count = 0; count < 2; count++)
    expect(await admin.call("DELETE", `/v1/api-keys/${key.id}`)).toMatchObject({ status: 204 });
  expect(await client.get("/v1/assets")).toMatchObject({ status: 401 });
  expect(await admin.call("DELETE", "/v1/api-keys/key_none")).toMatchObject({
    status: 404,
    body: { code: "KeyNotFound" },
  });
  const { api_keys } = (await admin.call("GET", "/v1/api-keys")).body as { api_keys: { id: string }[] };
  expect(api_keys).toMatchObject([{ id: key.id, created_by: key.created_by, revoked_at: expect.any(Number) }]);
});

test("an admin's key that gets an expiry and loses it again stays valid", async () => {
  const { control, admin } = await setUp();
  const { body } = await admin.call("POST", "/v1/api-keys", { name: "x", role: "admin" });
  const { key, api_key } = body as { key: { id: string }; api_key: string };
  const client = apiClient(control, { apiKey: api_key });
  for (const expires_at of [4_000_000_000, null, 4_000_000_001, 4_000_000_002, null]) {
    expect(await admin.call("PATCH", `/v1/api-keys/${key.id}`, { expires_at })).toMatchObject({ status: 200 });
    expect(await client.get("/v1/session")).toMatchObject({ status: 200, body: { expires_at } });
  }
});

test("an account has at most 1,000 keys, and 1,000 revoked ones, and 1,000 users", async () => {
  const { control, admin, accountId } = await setUp();
  const account = { accountId, keyId: "", apiKey: "" };
  for (let count = 0; count < 1_002; count++) await control.key(account, [], { revokedAt: count, role: "viewer" });
  expect(await admin.call("POST", "/v1/api-keys", { name: "x" })).toMatchObject({ status: 201 });
  expect(
    (await control.store.keys.listKeys(accountId)).filter(({ revokedAt }) => revokedAt !== undefined),
  ).toHaveLength(1_000);
  for (let count = 1; count < 1_000; count++) await control.key(account, []);
  expect(await admin.call("POST", "/v1/api-keys", { name: "x" })).toMatchObject({
    status: 429,
    body: { code: "QuotaExceeded", details: { quota: "api_keys", used: 1_000, limit: 1_000 } },
  });
  for (let count = 1; count < 1_000; count++) await control.session(account, { role: "viewer" });
  expect(await admin.call("POST", "/v1/users", { email: "x@example.com", role: "viewer" })).toMatchObject({
    status: 429,
    body: { code: "QuotaExceeded", details: { quota: "users", limit: 1_000 } },
  });
});

test("an installer makes an enrolment code that enrols the device once", async () => {
  const { control, admin, accountId } = await setUp();
  const { uuid, asset } = await control.asset({ accountId, keyId: "", apiKey: "" });
  const { browser } = await join(control, admin, "installer@example.com", "installer");
  const created = await browser.call("POST", `/v1/assets/${uuid}/enrolment-codes`, { valid_s: 600 });
  expect(created).toMatchObject({ status: 201, body: { serial_number: asset.serialNumber } });
  const body = { code: created.body["code"], nonce: "q83vASNFZ4mrze8BI0VniQ" };
  const device = await fetch(`${control.url}/v1/enrolments`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(await device.json()).toMatchObject({ asset: { uuid } });
  const groups = (await browser.call("GET", "/v1/network-groups")).body["network_groups"];
  expect(groups).toContainEqual({ name: "default_1gb", default: true });
});

test("no secret of a person is stored or logged", async () => {
  const { control, admin, accountId } = await setUp();
  const { code } = await invite(admin, "bob@example.com", "viewer");
  const { api_key } = (await admin.call("POST", "/v1/api-keys", { name: "x" })).body as { api_key: string };
  const stored = JSON.stringify(await control.store.audit.listEntries(accountId, 100));
  for (const secret of [PASSWORD, code, api_key, admin.cookies.get("edge_session") ?? "?"]) {
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(Buffer.from(hashSecret(secret)).toString("hex"));
  }
  expect(stored).toContain("key.created");
});
