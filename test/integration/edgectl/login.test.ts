import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { json, type Respond, startScriptedService } from "../../support/edgectl/scripted-service.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const NO_ASSETS = { assets: [], next_cursor: null };

const guarded: Respond = (response, request) => {
  const accepted = request.headers["x-api-key"] === KEY;
  const refusal = { code: "Unauthorized", message: "The API key is missing, wrong, revoked or has expired." };
  void (accepted ? json(200, NO_ASSETS) : json(401, refusal))(response, request);
};

async function setUp() {
  const service = await startScriptedService();
  service.on("GET /v1/assets", guarded);
  const user = await edgectlUser();
  return {
    service,
    user,
    configFile: join(user.configDirectory, "edgectl", "config.json"),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

describe("edgectl login", () => {
  test("checks the key, then stores address and key readable by the owner alone", async () => {
    await using rig = await setUp();
    const { code, stdout, stderr } = await rig.user.run(["login", "--url", `${rig.service.url}/`, "--key", KEY]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Logged in to ${rig.service.url}.`);
    expect(stdout).not.toContain(KEY);
    expect(JSON.parse(await readFile(rig.configFile, "utf8"))).toEqual({ url: rig.service.url, api_key: KEY });
    expect((await stat(rig.configFile)).mode & 0o777).toBe(0o600);
    expect((await stat(join(rig.user.configDirectory, "edgectl"))).mode & 0o777).toBe(0o700);
  });

  test.each([
    ["standard input", ["--key-file", "-"], { input: `${KEY}\n` }],
    ["the environment", [], { env: { EDGECTL_API_KEY: KEY } }],
  ])("takes the key from %s", async (_where, args, options) => {
    await using rig = await setUp();
    const { code } = await rig.user.run(["login", "--url", rig.service.url, ...args], options);
    expect(code).toBe(0);
    expect(await readFile(rig.configFile, "utf8")).toContain(KEY);
  });

  test("stores nothing when the key is refused, says what to do, and does not repeat the key", async () => {
    await using rig = await setUp();
    const wrong = "ek_wrongwrongwrongwrongwrongwrongwrong";
    const { code, stdout, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--key", wrong]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("The API key is missing, wrong, revoked or has expired. (Unauthorized)");
    expect(stderr).toContain("edgectl login");
    expect(stderr).not.toContain(wrong);
    await expect(stat(rig.configFile)).rejects.toThrow("ENOENT");
  });

  test("without a terminal and without a key it says how to give one", async () => {
    await using rig = await setUp();
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url]);
    expect(code).toBe(2);
    expect(stderr).toContain("--key-file");
    expect(rig.service.requests).toHaveLength(0);
  });

  test("a key with a line break in it is refused here, and not shown", async () => {
    await using rig = await setUp();
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--key", "ek_secret\nek_two"]);
    expect(code).toBe(3);
    expect(stderr).not.toContain("secret");
  });

  test("an unreachable server: exit code 5, and what to check", async () => {
    await using rig = await setUp();
    const { url } = rig.service;
    await rig.service[Symbol.asyncDispose]();
    await using user = await edgectlUser();
    const { code, stderr } = await user.run(["login", "--url", url, "--key", KEY]);
    expect(code).toBe(5);
    expect(stderr).toContain(`${url} could not be reached: nothing listens there.`);
    await using again = await edgectlUser();
    const asJson = await again.run(["login", "--url", url, "--key", KEY, "--json"]);
    expect(asJson.stdout).toBe("");
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { exit_code: 5 } });
  });

  test("another kind of server is distinguished from one that refuses", async () => {
    await using rig = await setUp();
    rig.service.on("GET /v1/assets", (response) => void response.end("<html>hello</html>"));
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--key", KEY]);
    expect(code).toBe(5);
    expect(stderr).toContain("not as this service does");
  });

  test("a redirect is not followed: the key would go with it", async () => {
    await using rig = await setUp();
    await using other = await startScriptedService();
    rig.service.on("GET /v1/assets", json(302, {}, { Location: `${other.url}/v1/assets` }));
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--key", KEY]);
    expect(code).toBe(1);
    expect(stderr).toContain(other.url);
    expect(other.requests).toHaveLength(0);
  });
});

describe("edgectl login in a browser", () => {
  const STARTED = {
    device_code: "el_device",
    user_code: "7K3M-XW9T",
    verification_url: "http://console/login-request",
    verification_url_complete: "http://console/#/login-request?code=7K3M-XW9T",
    interval_s: 1,
    expires_in_s: 600,
  };
  const MADE = {
    api_key: KEY,
    key_id: "key_1",
    role: "operator",
    expires_at: null,
    account: { id: "acc_1", name: "A" },
  };
  const START = "POST /v1/device-logins";
  const TOKEN = "POST /v1/device-logins/token";
  const busy = { code: "TooManyRequests", message: "Too many requests." };

  test("goes on after a proxy's or a busy service's failure, and after a response that was cut", async () => {
    await using rig = await setUp();
    rig.service.on(START, json(201, STARTED));
    rig.service.on(
      TOKEN,
      (response) => void response.writeHead(502, { "Content-Type": "text/html" }).end("<html>bad gateway</html>"),
      json(503, { code: "Unavailable", message: "The service is starting." }, { "Retry-After": "1" }),
      json(429, busy, { "Retry-After": "1" }),
      (response) => {
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "500" });
        response.write(JSON.stringify(MADE).slice(0, 20), () => response.destroy());
      },
      json(202, { state: "pending", interval_s: 1 }),
      json(200, MADE),
    );
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--browser"]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(await readFile(rig.configFile, "utf8"))).toEqual({ url: rig.service.url, api_key: KEY });
    expect(rig.service.requests.filter(({ path }) => path.endsWith("/token"))).toHaveLength(6);
  });

  test("the key is stored before anything else is asked", async () => {
    await using rig = await setUp();
    rig.service.on(START, json(201, STARTED));
    rig.service.on(TOKEN, json(200, MADE));
    rig.service.on("GET /v1/assets", json(503, { code: "Unavailable", message: "The service is stopping." }));
    const { code } = await rig.user.run(["login", "--url", rig.service.url, "--browser"]);
    expect(code).toBe(0);
    expect(await readFile(rig.configFile, "utf8")).toContain(KEY);
  });

  test("a key that cannot be stored is named, so that it can be revoked", async () => {
    await using rig = await setUp();
    rig.service.on(START, json(201, STARTED));
    rig.service.on(TOKEN, json(200, MADE));
    await writeFile(join(rig.user.configDirectory, "edgectl"), "not a directory");
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--browser"]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("key_1");
    expect(stderr).not.toContain(KEY);
  });

  test("a refusal ends it", async () => {
    await using rig = await setUp();
    rig.service.on(START, json(201, STARTED));
    rig.service.on(TOKEN, json(403, { code: "LoginRequestDenied", message: "The log-in was denied." }));
    const { code, stderr } = await rig.user.run(["login", "--url", rig.service.url, "--browser"]);
    expect(code).toBe(3);
    expect(stderr).toContain("The log-in was denied.");
  });
});

describe("the stored login", () => {
  test("is used, is sent to no other server, and is removed at logout", async () => {
    await using rig = await setUp();
    await using other = await startScriptedService();
    await rig.user.run(["login", "--url", rig.service.url, "--key", KEY]);
    const session = {
      principal: { kind: "key", id: "key_1", name: "Night shift" },
      account: { id: "acc_1", name: "acme" },
      role: "operator",
      permissions: [],
      expires_at: 1_796_000_000,
    };
    rig.service.on("GET /v1/session", json(200, session));
    const whoami = await rig.user.run(["whoami", "--json"]);
    const { permissions: _many, ...shown } = session;
    expect(JSON.parse(whoami.stdout)).toEqual({
      url: rig.service.url,
      url_from: "login",
      key_from: "login",
      key_accepted: true,
      ...shown,
    });
    const text = (await rig.user.run(["whoami"])).stdout;
    expect(text).toMatch(
      /API key +Night shift, key_1, accepted \(from login\)\n.*Account +acme, acc_1\n.*Role +operator\n/,
    );
    const elsewhere = await rig.user.run(["assets", "list", "--url", other.url]);
    expect(elsewhere.code).toBe(3);
    expect(elsewhere.stderr).toContain(`There is no API key for ${other.url}`);
    expect(other.requests).toHaveLength(0);
    expect((await rig.user.run(["logout"])).stdout).toBe("Logged out.\n");
    const after = await rig.user.run(["assets", "list"]);
    expect(after.code).toBe(3);
    expect(after.stderr).toContain("You are not logged in.");
  });

  test("is overridden by EDGECTL_URL and EDGECTL_API_KEY", async () => {
    await using rig = await setUp();
    const env = { EDGECTL_URL: rig.service.url, EDGECTL_API_KEY: KEY };
    expect((await rig.user.run(["assets", "list"], { env })).code).toBe(0);
    expect(rig.service.requests.map(({ headers }) => headers["x-api-key"])).toEqual([KEY]);
  });

  test("a file that others can read causes a note; a damaged one is named and its content is not shown", async () => {
    await using rig = await setUp();
    await mkdir(join(rig.user.configDirectory, "edgectl"));
    await writeFile(rig.configFile, JSON.stringify({ url: rig.service.url, api_key: KEY }), { mode: 0o644 });
    const exposed = await rig.user.run(["assets", "list"]);
    expect(exposed.code).toBe(0);
    expect(exposed.stderr).toContain(`chmod 600 ${rig.configFile}`);
    await writeFile(rig.configFile, `{"url": "x", "api_key": "${KEY}`);
    const damaged = await rig.user.run(["assets", "list"]);
    expect(damaged.code).toBe(3);
    expect(damaged.stderr).toContain(`${rig.configFile} is damaged.`);
    expect(damaged.stderr).not.toContain(KEY);
  });
});
