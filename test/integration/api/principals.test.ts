import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { PasswordHasher } from "../../../src/control-plane/accounts/password-hasher.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../../support/control-plane.ts";
import { QUICK_HASH, someAudit } from "../../support/control-plane/people.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

async function setUp(options: ControlPlaneOptions = {}) {
  const control = await startControlPlane(options);
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account();
  return { control, account };
}

const OWN_PAGE = { "Sec-Fetch-Site": "same-origin" };

async function call(
  control: Pick<ControlPlane, "url">,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(control.url + path, {
    method,
    headers: { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

test("a key acts with its role, until it expires", async () => {
  const clock = new FakeClock();
  const { control, account } = await setUp({ clock });
  const expiresAt = Math.floor(clock.now() / 1000) + 60;
  const { apiKey } = await control.key(account, [], { role: "viewer", expiresAt });
  expect(await call(control, "GET", "/v1/assets", { "X-API-Key": apiKey })).toMatchObject({ status: 200 });
  expect(
    await call(
      control,
      "POST",
      "/v1/assets",
      { "X-API-Key": apiKey },
      { serial_number: "SN-1", name: "x", type: "gateway" },
    ),
  ).toMatchObject({ status: 403, body: { code: "Forbidden", details: { permission: "assets.register" } } });
  await clock.advance(60_000);
  expect(await call(control, "GET", "/v1/assets", { "X-API-Key": apiKey })).toMatchObject({ status: 401 });
});

test("a session acts with the role of its user as it is now", async () => {
  const { control, account } = await setUp();
  const { cookie, user } = await control.session(account, { role: "installer" });
  expect(await call(control, "GET", "/v1/assets", { cookie })).toMatchObject({ status: 200 });
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}`;
  const headers = { cookie, ...OWN_PAGE };
  expect(await call(control, "PATCH", path, headers, { name: "Pump" })).toMatchObject({ status: 200 });
  expect(await call(control, "PATCH", path, headers, { name: "Pump", status: "inactive" })).toMatchObject({
    status: 403,
    body: { code: "Forbidden", details: { permission: "assets.connectivity" } },
  });
  expect(await call(control, "DELETE", path, headers)).toMatchObject({ status: 403 });
  const { accountId } = account;
  await control.store.users.changeUser(accountId, user.id, { role: "viewer" }, someAudit("user.changed", accountId));
  expect(await call(control, "GET", "/v1/assets", { cookie })).toMatchObject({ status: 401 });
});

test("a session ends 12 h after its last use", async () => {
  const clock = new FakeClock();
  const { control, account } = await setUp({ clock });
  const { cookie } = await control.session(account);
  const hour = 3_600_000;
  for (const hours of [11, 11, 11]) {
    clock.pass(hours * hour);
    expect(await call(control, "GET", "/v1/assets", { cookie })).toMatchObject({ status: 200 });
  }
  clock.pass(12 * hour);
  expect(await call(control, "GET", "/v1/assets", { cookie })).toMatchObject({ status: 401 });
});

test("a request with a key acts as the key alone, also if the key is wrong", async () => {
  const { control, account } = await setUp();
  const { cookie } = await control.session(account);
  expect(await call(control, "GET", "/v1/assets", { cookie, "X-API-Key": "ek_wrong" })).toMatchObject({ status: 401 });
  expect(await call(control, "GET", "/v1/assets", { cookie: "edge_session=" })).toMatchObject({ status: 401 });
  const secure = cookie.replace("edge_session", "__Host-edge_session");
  expect(await call(control, "GET", "/v1/assets", { cookie: secure })).toMatchObject({ status: 401 });
});

test("a change with a session comes from a page of the service, with a body that no form can send", async () => {
  const { control, account } = await setUp();
  const { cookie } = await control.session(account);
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}`;
  const body = { name: "Pump" };
  const send = async (headers: Readonly<Record<string, string>>) =>
    (await call(control, "PATCH", path, { cookie, ...headers }, body)).body["code"];
  expect(await send({})).toBe("CrossSiteRequest");
  expect(await send({ "Sec-Fetch-Site": "same-site" })).toBe("CrossSiteRequest");
  expect(await send({ "Sec-Fetch-Site": "cross-site", Origin: control.url })).toBe("CrossSiteRequest");
  expect(await send({ Origin: "http://127.0.0.1:1" })).toBe("CrossSiteRequest");
  expect(await send({ Origin: "null" })).toBe("CrossSiteRequest");
  expect(await send({ ...OWN_PAGE, "Content-Type": "text/plain" })).toBe("UnsupportedMediaType");
  expect(await send({ Origin: control.url })).toBeUndefined();
  expect(await send(OWN_PAGE)).toBeUndefined();
});

test("behind a trusted proxy the origin, the cookie and the address are those of the browser", async () => {
  const { control, account } = await setUp({
    config: { public_url: "https://control.example.com", trusted_proxies: "127.0.0.0/8" },
  });
  const { cookie } = await control.session(account);
  const { uuid } = await control.asset(account);
  const secure = cookie.replace("edge_session", "__Host-edge_session");
  expect(await call(control, "GET", "/v1/assets", { cookie })).toMatchObject({ status: 401 });
  const headers = { cookie: secure, Origin: "https://control.example.com" };
  expect(await call(control, "PATCH", `/v1/assets/${uuid}`, headers, { name: "x" })).toMatchObject({ status: 200 });
});

test("a stream with a session ends when the session does, and cookies open no stream to an app", async () => {
  const { control, account } = await setUp();
  const { cookie, hash } = await control.session(account);
  const { uuid } = await control.asset(account);
  const response = await fetch(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { cookie, ...OWN_PAGE, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "web", image: "registry.example.com/web:1", wait_for_device_s: 600 }),
  });
  expect(response.status).toBe(200);
  // As another process would.
  await using other = openStore(control.databasePath);
  await other.userSessions.closeSession(hash);
  expect(await response.text()).not.toContain("Success");
  const socket = new WebSocket(`${control.url.replace("http", "ws")}/v1/assets/${uuid}/edge/apps/web/stream`, {
    headers: { cookie },
  });
  const [error] = (await once(socket, "error")) as [Error];
  expect(error.message).toContain("401");
});

test("a stream ends when its key expires", async () => {
  const clock = new FakeClock();
  const { control, account } = await setUp({ clock });
  const expiresAt = Math.floor(clock.now() / 1000) + 60;
  const { apiKey } = await control.key(account, [], { role: "operator", expiresAt });
  const { uuid } = await control.asset(account);
  const response = await fetch(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "web", image: "registry.example.com/web:1", wait_for_device_s: 600 }),
  });
  let isOver = false;
  const text = response.text().finally(() => (isOver = true));
  await clock.advance(59_000);
  expect(isOver).toBe(false);
  await clock.advance(1_000);
  await waitFor("the end of the stream", () => isOver);
  expect(await text).not.toContain("Success");
});

test("values of an app's environment are shown to those who may deploy it", async () => {
  const { control, account } = await setUp();
  const { uuid } = await control.asset(account);
  const path = `/v1/assets/${uuid}/edge/apps/web`;
  const statuses = async (role: "installer" | "operator") => {
    const { apiKey } = await control.key(account, [], { role });
    const headers = { "X-API-Key": apiKey };
    const [plain, revealed] = [
      await call(control, "GET", path, headers),
      await call(control, "GET", `${path}?reveal=environments`, headers),
    ];
    return [plain.body["code"], revealed.body["code"]];
  };
  expect(await statuses("installer")).toEqual(["AppNotFound", "Forbidden"]);
  expect(await statuses("operator")).toEqual(["AppNotFound", "DeviceNotReachable"]);
});

test("only a trusted proxy says where a request comes from, and that it came over HTTPS", async () => {
  const password = "a long way to the pump house";
  const passwordHash = await new PasswordHasher({ algorithm: QUICK_HASH }).hash(password, {
    source: "test",
    goesFirst: false,
  });
  const results = [];
  for (const trusted_proxies of ["127.0.0.1", "192.0.2.0/24", undefined]) {
    const { control, account } = await setUp({ config: { ...(trusted_proxies && { trusted_proxies }) } });
    const { user } = await control.session(account, { passwordHash });
    const response = await fetch(`${control.url}/v1/session`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Forwarded-For": "203.0.113.9, 198.51.100.7",
        "X-Forwarded-Proto": "https",
      },
      body: JSON.stringify({ email: user.email, password }),
    });
    const cookie = response.headers.getSetCookie().find((line) => line.includes("edge_session")) ?? "";
    const [{ source } = { source: "" }] = await control.store.audit.listEntries(account.accountId, 1);
    results.push([cookie.split("=")[0], cookie.includes("; Secure"), source]);
  }
  expect(results).toEqual([
    ["__Host-edge_session", true, "198.51.100.7"],
    ["edge_session", false, "127.0.0.1"],
    ["edge_session", false, "127.0.0.1"],
  ]);
});
