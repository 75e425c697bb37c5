import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { json, type Respond, startScriptedService } from "../../support/edgectl/scripted-service.ts";
import { waitFor } from "../../support/wait-for.ts";

const ESCAPE = "\u001b[31m";
const CONTROL = /[^\P{Cc}\n]|\u202e/u;

async function realService() {
  await using owner = new AsyncDisposableStack();
  const plane = owner.use(await startControlPlane());
  const user = owner.use(await edgectlUser());
  const account = await plane.account();
  const owned = owner.move();
  const person = await plane.session(account, { role: "operator", email: "ada@example.com" });
  const decide = (code: string, decision: object, cookie = person.cookie) =>
    fetch(`${plane.url}/v1/device-logins/${code}`, {
      method: "POST",
      headers: { cookie, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json" },
      body: JSON.stringify(decision),
    });
  return {
    plane,
    user,
    account,
    person,
    decide,
    /** Starts a log-in and returns the code that it prints. */
    async startLogin(...args: string[]) {
      const command = user.start(["login", "--url", plane.url, "--browser", ...args]);
      await waitFor("the code", () => /Compare the code there with/.test(command.stderr()));
      const [, code = ""] = /Compare the code there with (\w{4}-\w{4})/.exec(command.stderr()) ?? [];
      return { command, code };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe("edgectl login in a browser", () => {
  test("waits for the person, and stores a key that acts with the role the person chose", async () => {
    await using rig = await realService();
    const { command, code } = await rig.startLogin("--json");
    await using _command = command;
    expect(command.stderr()).toContain(`/#/login-request?code=${code}`);
    const request = await fetch(`${rig.plane.url}/v1/device-logins/${code.toLowerCase().replace("-", " ")}`, {
      headers: { cookie: rig.person.cookie },
    });
    expect(await request.json()).toMatchObject({
      user_code: code,
      client_name: expect.stringMatching(/^edgectl on /),
      source: "127.0.0.1",
      state: "pending",
      roles: ["viewer", "installer", "operator"],
    });
    expect((await rig.decide(code, { decision: "approve", role: "admin" })).status).toBe(403);
    expect((await rig.decide(code, { decision: "approve", role: "viewer", expires_at: null })).status).toBe(422);
    expect((await rig.decide(code, { decision: "approve", role: "viewer" })).status).toBe(200);
    expect((await rig.decide(code, { decision: "deny" })).status).toBe(409);
    expect(await command.exited).toBe(0);
    const { key_id } = JSON.parse(command.stdout()) as { key_id: string };
    const stored = await readFile(join(rig.user.configDirectory, "edgectl", "config.json"), "utf8");
    const { api_key } = JSON.parse(stored) as { api_key: string };
    expect(command.stdout() + command.stderr()).not.toContain(api_key);
    expect(await rig.plane.store.keys.findKey(key_id)).toMatchObject({ role: "viewer", createdBy: rig.person.user.id });
    expect((await rig.user.run(["assets", "list"])).code).toBe(0);
    expect((await rig.user.run(["keys", "list"])).stderr).toContain("(Forbidden)");
    // It falls with the person.
    const admin = await rig.plane.session(rig.account);
    const removal = await fetch(`${rig.plane.url}/v1/users/${rig.person.user.id}`, {
      method: "DELETE",
      headers: { cookie: admin.cookie, "Sec-Fetch-Site": "same-origin" },
    });
    expect(removal.status).toBe(204);
    expect((await rig.user.run(["assets", "list"])).code).toBe(3);
  });

  test("that is denied stores nothing and says so", async () => {
    await using rig = await realService();
    const { command, code } = await rig.startLogin();
    await using _command = command;
    expect((await rig.decide(code, { decision: "deny" })).status).toBe(200);
    expect(await command.exited).not.toBe(0);
    expect(command.stderr()).toContain("The log-in request was denied. (LoginRequestDenied)");
    await expect(readFile(join(rig.user.configDirectory, "edgectl", "config.json"))).rejects.toThrow("ENOENT");
  });

  test("wrong codes are limited for each person, and keys cannot confirm", async () => {
    await using rig = await realService();
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 22; attempt++)
      statuses.push((await rig.decide("0000-0000", { decision: "deny" })).status);
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(404));
    expect(statuses.slice(20)).toEqual([429, 429]);
    const byKey = await fetch(`${rig.plane.url}/v1/device-logins/0000-0000`, {
      headers: { "X-API-Key": rig.account.apiKey },
    });
    expect(byKey.status).toBe(403);
  });

  test("without a terminal and a key it is not begun unless it is asked for", async () => {
    await using rig = await realService();
    const { code, stderr } = await rig.user.run(["login", "--url", rig.plane.url]);
    expect(code).toBe(2);
    expect(stderr).toContain("--browser");
  });
});

test("keys, users and the audit log of a real service", async () => {
  await using rig = await realService();
  const env = { EDGECTL_URL: rig.plane.url, EDGECTL_API_KEY: rig.account.apiKey };
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await rig.user.run([...args, "--json"], { env });
    expect({ code, args, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, args, stderr: "" });
    return JSON.parse(stdout) as Record<string, never>;
  };
  const created = await run(
    "keys",
    "create",
    "--name",
    "CI",
    "--role",
    "viewer",
    "--expires",
    "90d",
    "--allow",
    "exec",
  );
  expect(created).toMatchObject({ key: { role: "viewer", permissions: ["apps.exec"] } });
  const { id } = created["key"] as unknown as { id: string };
  await run("keys", "revoke", id);
  const text = await rig.user.run(["keys", "list"], { env });
  expect(text.stdout).toMatch(new RegExp(`${id} .*revoked`));
  const invited = await run("users", "invite", "jo@example.com", "--role", "installer", "--name", "Jo");
  expect(invited).toMatchObject({ user: { role: "installer", state: "invited" }, invitation: {} });
  expect(await run("users", "role", "Jo@example.com", "operator")).toMatchObject({ role: "operator" });
  expect(await run("users", "reset", "jo@example.com")).toMatchObject({ reset: { link: expect.any(String) } });
  await run("users", "remove", "jo@example.com");
  expect((await rig.user.run(["users", "remove", "jo@example.com"], { env })).code).toBe(4);
  const { users } = await run("users", "list");
  expect(users).toMatchObject([{ email: "ada@example.com" }]);
  const { entries } = await run("audit", "--action", "user.", "--since", "1h");
  expect((entries as unknown as { action: string }[]).map(({ action }) => action)).toEqual([
    "user.removed",
    "user.reset",
    "user.changed",
    "user.invited",
  ]);
  const table = await rig.user.run(["audit", "--action", "key."], { env });
  expect(table.stdout).toContain("key.revoked");
  expect((await rig.user.run(["assets", "list", "--attention", "nonsense"], { env })).code).toBe(2);
});

test("control characters of what others wrote do not reach the terminal", async () => {
  await using user = await edgectlUser();
  await using service = await startScriptedService();
  const evil = `${ESCAPE}evil\u202e\u0007\n`;
  const entry = {
    id: "1",
    timestamp: 1_795_178_868,
    actor: { kind: "user", id: evil, name: evil },
    source: evil,
    action: evil,
    asset_id: evil,
    app: evil,
    subject: { kind: "key", id: evil, name: evil },
    outcome: evil,
    details: { [evil]: evil },
  };
  service.on("GET /v1/audit", json(200, { entries: [entry], next_cursor: null }));
  const key = {
    id: evil,
    name: evil,
    role: evil,
    permissions: [evil],
    created_at: 1,
    created_by: evil,
    expires_at: null,
    last_used_at: null,
    revoked_at: null,
  };
  service.on("GET /v1/api-keys", json(200, { api_keys: [key], next_cursor: evil }));
  const person = { id: evil, email: evil, name: evil, role: evil, state: evil, sign_in: evil, created_at: 1 };
  service.on("GET /v1/users", json(200, { users: [{ ...person, last_sign_in_at: null }], next_cursor: null }));
  const asset = { uuid: evil, serial_number: evil, name: evil, type: evil, created_at: 1, status: "active" };
  const assets = { assets: [{ ...asset, connected: false, last_seen: 1, attention: [evil] }], next_cursor: null };
  service.on("GET /v1/assets", json(200, assets));
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };
  for (const args of [["audit"], ["keys", "list"], ["users", "list"], ["assets", "list", "--attention", "--connected"]])
    for (const more of [[], ["--json"]]) {
      const { code, stdout, stderr } = await user.run([...args, ...more], { env });
      expect({ code, args }).toEqual({ code: 0, args });
      expect(stdout + stderr).toContain("evil");
      expect(stdout + stderr).not.toMatch(CONTROL);
    }
  expect(service.requests.at(-1)?.path).toBe("/v1/assets?connected=true&attention=any");
});

test("events are followed over a lost connection, each once, and shown up to now without --follow", async () => {
  await using user = await edgectlUser();
  await using service = await startScriptedService();
  const asked: string[] = [];
  const respond: Respond = (response, request) => {
    const after = new URL(request.path, service.url).searchParams.get("after");
    asked.push(String(after));
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const send = (event: object): void => void response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (after === null) send({ type: "hello", id: "2" });
    const from = Number(after ?? 2);
    for (let id = from + 1; id <= from + 2 && id <= 4; id++)
      send({ type: "asset.changed", id: String(id), timestamp: 1_795_178_868, asset_id: `a${ESCAPE}` });
    if (after !== "4") setImmediate(() => response.destroy());
  };
  service.on("GET /v1/events", respond);
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG" };
  const since = await user.run(["events", "--after", "0", "--json"], { env });
  expect(since.code).toBe(0);
  expect(
    since.stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id),
  ).toEqual(["1", "2"]);
  await using following = user.start(["events", "--follow", "--after", "1"], { env });
  await waitFor("the last event", () => asked.at(-1) === "4" || following.stdout().includes("  4  "));
  await waitFor("the next connection", () => asked.at(-1) === "4");
  const ids = following.stdout().match(/  (\d)  asset\.changed/g);
  expect(ids).toEqual(["  2  asset.changed", "  3  asset.changed", "  4  asset.changed"]);
  expect(following.stdout()).not.toMatch(CONTROL);
  expect((await user.run(["events"], { env })).code).toBe(2);
});
