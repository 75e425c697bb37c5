import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { CLOSE_CODES } from "../../../src/protocol/link/frames.ts";
import { type RunningCommand, run, start } from "../../support/command.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

/** The executable in a process of its own. */
const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");

let directory: Awaited<ReturnType<typeof tempDir>>;
let dataDir: string;

beforeEach(async () => {
  directory = await tempDir();
  dataDir = join(directory.path, "data");
});
afterEach(() => directory[Symbol.asyncDispose]());

/** Creates the database, as the first start of the server does. */
async function createDatabase(): Promise<void> {
  await openStore(prepareDataDir(dataDir).database)[Symbol.asyncDispose]();
}

async function administer(...args: string[]): Promise<Record<string, string>> {
  const { code, stdout, stderr } = await edgeControl(...args, "--data-dir", dataDir, "--json");
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, string>;
}

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly process: RunningCommand;
}

async function serve(...args: string[]): Promise<Server> {
  const child = start(process.execPath, [MAIN, "serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0", ...args]);
  await child.waitForOutput('"msg":"listening"');
  const line = child
    .stdout()
    .split("\n")
    .find((text) => text.includes('"msg":"listening"'));
  const { port } = JSON.parse(line ?? "{}") as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    process: child,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

test("administration works before, beside and after a running server", async () => {
  await createDatabase();
  const { account_id } = await administer("account", "create", "Acme");
  await using server = await serve();
  const key = await administer("key", "create", "--account", account_id ?? "", "--name", "ops");
  const sims =
    "--supersim-sid HS1 --supersim-iccid 8988307000001234567 --network-group default_1gb " +
    "--prosim-imsi 262011234567890 --prosim-iccid 8988307000001234568 --service-profile basic";
  const owner = ["--account", account_id ?? ""];
  const asset = await administer(
    "asset",
    "add",
    ...owner,
    "--serial-number",
    "GW-1",
    "--name",
    "Pump house",
    ...sims.split(" "),
  );
  expect(key).toEqual({ key_id: expect.stringMatching(/^key_/), api_key: expect.stringMatching(/^ek_[\w-]{43}$/) });
  expect(asset).toEqual({
    uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    device_token: expect.stringMatching(/^ed_[\w-]{43}$/),
  });
  const issued = await administer("asset", "enrolment-code", ...owner, "--asset", "GW-1", "--valid", "30m");
  expect(issued).toMatchObject({ code: expect.stringMatching(/^\w{5}-\w{5}$/), uuid: asset["uuid"] });
  expect(Number(issued["expires_at"])).toBeGreaterThan(Date.now() / 1000 + 29 * 60);
  const wrong = await edgeControl(
    "asset",
    "enrolment-code",
    ...owner,
    "--asset",
    "GW-1",
    "--valid",
    "31d",
    "--data-dir",
    dataDir,
  );
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("at most 30d") as string });
  const headers = { "X-API-Key": key["api_key"] ?? "" };
  const response = await fetch(`${server.url}/v1/assets/GW-1`, { headers });
  expect(await response.json()).toMatchObject({ uuid: asset["uuid"], name: "Pump house", status: "active" });
  await using device = await FakeDevice.connect(
    server.url.replace("http", "ws") + "/v1/agent",
    asset["device_token"] ?? "",
  );
  const secret = "pl4nted-s3cret";
  const stream = await openStream(`${server.url}/v1/assets/GW-1/edge/apps`, {
    apiKey: key["api_key"] ?? "",
    body: { name: "web", image: "web:1", environments: [{ key: "PASSWORD", value: secret }] },
  });
  expect(await device.next("deploy")).toMatchObject({ spec: { environments: [{ value: secret }] } });
  await administer("key", "revoke", key["key_id"] ?? "");
  expect((await fetch(`${server.url}/v1/assets/GW-1`, { headers })).status).toBe(401);
  await stream.ended;
  expect(stream.events.every(({ status }) => status === "Running")).toBe(true);
  server.process.kill();
  expect(await device.closed).toBe(CLOSE_CODES.restart);
  expect(await server.process.exited).toBe(0);
  const list = await edgeControl("key", "list", "--data-dir", dataDir, "--account", account_id ?? "");
  expect(list.stdout).toContain(key["key_id"]);
  const output = server.process.stdout() + server.process.stderr() + list.stdout;
  for (const planted of [secret, key["api_key"], asset["device_token"]]) expect(output).not.toContain(planted);
  expect((await stat(join(dataDir, "edge-control.sqlite"))).mode & 0o077).toBe(0);
});

test("a server killed without warning loses nothing that was confirmed", async () => {
  await createDatabase();
  const { account_id } = await administer("account", "create", "Acme");
  const key = await administer("key", "create", "--account", account_id ?? "", "--name", "ops");
  const asset = await administer("asset", "add", "--account", account_id ?? "", "--serial-number", "GW-1");
  const apiKey = key["api_key"] ?? "";
  const token = asset["device_token"] ?? "";
  await using first = await serve();
  await using device = await FakeDevice.connect(first.url.replace("http", "ws") + "/v1/agent", token);
  const stream = await openStream(`${first.url}/v1/assets/GW-1/edge/apps`, {
    apiKey,
    body: { name: "web", image: "web:1" },
  });
  const id = stream.deploymentId;
  device.event(id, { step: "pulling" });
  await stream.until("two events", ({ events }) => events.length === 2);
  first.process.kill("SIGKILL");
  expect(await stream.ended).toBe(false);
  await using second = await serve();
  await using back = await FakeDevice.connect(second.url.replace("http", "ws") + "/v1/agent", token, { held: [id] });
  back.event(id, { device_seq: 1, step: "pulling" });
  back.event(id, { device_seq: 2, status: "Success", message: "Up.", step: "done" });
  const whole = await openStream(`${second.url}/v1/assets/GW-1/edge/deployments/${id}/events`, { apiKey });
  expect(await whole.ended).toBe(true);
  expect(whole.events.slice(0, stream.events.length)).toEqual(stream.events);
  expect(whole.events.map(({ seq, status }) => [seq, status])).toEqual([
    [1, "Running"],
    [2, "Running"],
    [3, "Success"],
  ]);
});

describe("an error is reported in one line", () => {
  test("a second server on the same data", async () => {
    await using _server = await serve();
    const second = await edgeControl("serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0");
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^edge-control: another edge-control serves .*\n$/);
  });

  test("an address that is taken", async () => {
    await using server = await serve();
    const address = server.url.slice("http://".length);
    const other = join(directory.path, "other");
    const second = await edgeControl("serve", "--data-dir", other, "--listen", address);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^edge-control: .*EADDRINUSE.*\n$/);
  });

  test.each([
    [["key", "create", "--account", "acc_x", "--name", "n"], /there is no account acc_x; see/],
    [["key", "list", "--account", "acc_x"], /there is no account acc_x/],
    [["key", "revoke", "key_x"], /there is no key key_x; see/],
    [["asset", "add", "--account", "acc_x", "--serial-number", "S"], /there is no account acc_x/],
    [["account", "create", ""], /1 to 128 characters/],
    [["serve", "--listen", "nowhere"], /listen: must be HOST:PORT/],
    [["serve", "--ack-timeout-s", "-1"], /ack_timeout_s: /],
    [["serve", "--config", "/nowhere/config.json"], /cannot be read: ENOENT/],
  ])("%j", async (args, message) => {
    await createDatabase();
    const { code, stdout, stderr } = await edgeControl(...args, "--data-dir", dataDir);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^edge-control: .*\n$/);
  });

  test("an asset with an identifier in use, or with invalid fields", async () => {
    await createDatabase();
    const { account_id } = await administer("account", "create", "Acme");
    const add = (...args: string[]) =>
      edgeControl("asset", "add", "--account", account_id ?? "", "--data-dir", dataDir, ...args);
    expect((await add("--serial-number", "S-1")).code).toBe(0);
    expect(await add("--serial-number", "S-1")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("serial_number already belongs"),
    });
    expect(await add("--serial-number", "S-2", "--supersim-sid", "HS1")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("supersim.iccid"),
    });
  });

  test.each([[["nonsense"]], [["key", "create"]], [["serve", "--ack-timeout-s", "x"]], [["account", "create"]]])(
    "%j is not understood: exit code 2",
    async (args) => {
      const { code, stderr } = await edgeControl(...args);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^error: /);
    },
  );
});

describe("without a database", () => {
  const VARIABLE = "EDGE_CONTROL_DATA_DIR";
  const COMMANDS = [
    ["account", "create", "Acme"],
    ["account", "list"],
    ["key", "create", "--account", "acc_x", "--name", "n"],
    ["key", "list"],
    ["key", "revoke", "key_x"],
    ["asset", "add", "--account", "acc_x", "--serial-number", "S"],
    ["asset", "enrolment-code", "--account", "acc_x", "--asset", "S"],
    ["network-group", "add", "own", "--account", "acc_x"],
    ["network-group", "list", "--account", "acc_x"],
    ["usage", "import", "usage.csv"],
    ["backup", "backup.db"],
    ["restore", "usage.csv"],
  ];

  /** Runs a command in the test's directory, with the variable set to this value. */
  const inDirectory = (args: readonly string[], variable?: string) =>
    run(process.execPath, [MAIN, ...args], { cwd: directory.path, env: { [VARIABLE]: variable } });

  test.each(COMMANDS)("%s %s refuses and creates nothing", async (...args) => {
    await writeFile(join(directory.path, "usage.csv"), "");
    const { code, stdout, stderr } = await inDirectory(args);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.any(String) as string });
    expect(stderr).toBe(
      `edge-control: there is no database in ${dataDir}: give the same --data-dir, --config or ${VARIABLE} as to ` +
        "`edge-control serve`, which creates the database\n",
    );
    expect(await readdir(directory.path)).toEqual(["usage.csv"]);
  });

  test("a directory that is named and has none is refused too, and stays as it is", async () => {
    await mkdir(dataDir, { mode: 0o755 });
    const { code, stderr } = await edgeControl("account", "create", "Acme", "--data-dir", dataDir);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`no database in ${dataDir}`) as string,
    });
    expect(await readdir(dataDir)).toEqual([]);
  });

  test("a database that cannot be looked for is another error than none", async () => {
    await symlink(dataDir, dataDir);
    const { code, stderr } = await edgeControl("account", "list", "--data-dir", dataDir);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^edge-control: ELOOP.*\n$/) as string });
  });

  test("a backup is restored into a new directory only when that is named", async () => {
    await createDatabase();
    const backup = join(directory.path, "backup.db");
    expect(await edgeControl("backup", backup, "--data-dir", dataDir)).toMatchObject({ code: 0 });
    const other = join(directory.path, "other");
    expect(await edgeControl("restore", backup, "--data-dir", other)).toMatchObject({ code: 0 });
    expect(await edgeControl("account", "list", "--data-dir", other)).toMatchObject({ code: 0 });
    const byVariable = join(directory.path, "by-variable");
    expect(await inDirectory(["restore", backup], byVariable)).toMatchObject({ code: 0 });
  });
});

test("EDGE_CONTROL_DATA_DIR names the data directory of the server and of administration; --data-dir wins", async () => {
  const env = { EDGE_CONTROL_DATA_DIR: dataDir };
  const at = (...args: string[]) => run(process.execPath, [MAIN, ...args], { cwd: directory.path, env });
  await using server = start(process.execPath, [MAIN, "serve", "--listen", "127.0.0.1:0"], {
    cwd: directory.path,
    env,
  });
  await server.waitForOutput('"msg":"listening"');
  expect(await at("account", "create", "Acme")).toMatchObject({ code: 0, stderr: "" });
  expect((await at("account", "list")).stdout).toContain("Acme");
  const other = join(directory.path, "other");
  expect(await at("account", "list", "--data-dir", other)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`no database in ${other}`) as string,
  });
  expect(await readdir(directory.path)).toEqual(["data"]);
});

const setUp = (url: string, code: string, fields: object = {}) =>
  fetch(`${url}/v1/setup`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code, email: "ada@example.com", password: "a long way to the pump house", ...fields }),
  });

describe("the first admin", () => {
  const SET_UP_LINK = /http:\/\/127\.0\.0\.1:\d+\/#\/setup\?code=(ec_[\w-]{43})/;

  test("a server that nobody can sign in to says on standard error how to set it up, and not in its log", async () => {
    await using server = await serve();
    await waitFor("the link", () => SET_UP_LINK.test(server.process.stderr()));
    const [link = "", code = ""] = SET_UP_LINK.exec(server.process.stderr()) ?? [];
    expect(link).toContain(server.url);
    const response = await setUp(server.url, code, { account_name: "Acme" });
    expect(response.status).toBe(201);
    expect(server.process.stdout()).not.toContain(code);
    const { code: exitCode, stderr } = await edgeControl("setup-code", "--data-dir", dataDir);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("the service is set up; give --account")]);
  });

  test("a server with users says nothing, and one with a single account makes an admin of that one", async () => {
    await createDatabase();
    const { account_id = "" } = await administer("account", "create", "Acme");
    {
      await using server = await serve();
      await waitFor("the link", () => SET_UP_LINK.test(server.process.stderr()));
      const [, code = ""] = SET_UP_LINK.exec(server.process.stderr()) ?? [];
      const response = await setUp(server.url, code);
      expect(await response.json()).toMatchObject({ account: { id: account_id, name: "Acme" }, role: "admin" });
    }
    await using server = await serve();
    // The command is not told on which port the server was asked to listen.
    const file = join(dataDir, "console-url");
    await waitFor("the address", async () => (await readFile(file, "utf8")).includes(server.url));
    const { code = "", link = "" } = await administer("setup-code", "--account", account_id);
    expect(link).toContain(`${server.url}/#/setup?`);
    expect((await setUp(server.url, code, { email: "bob@example.com" })).status).toBe(201);
    expect(server.process.stderr()).not.toContain("setup");
    const entries = JSON.stringify(await administer("audit", "list", "--account", account_id));
    expect(entries).toContain("setup_code.created");
    expect(entries).not.toContain(code);
  });
});

test("a key is created with a role and an expiry", async () => {
  await createDatabase();
  const { account_id = "" } = await administer("account", "create", "Acme");
  const create = ["key", "create", "--account", account_id, "--name", "x"];
  const { api_key = "" } = await administer(...create, "--role", "viewer", "--expires", "90d");
  await administer(...create);
  const keys = (await administer("key", "list")) as unknown as { role: string; expires_at: number | null }[];
  expect(keys.map(({ role }) => role).toSorted((a, b) => a.localeCompare(b))).toEqual(["operator", "viewer"]);
  const { expires_at = null } = keys.find(({ role }) => role === "viewer") ?? {};
  expect(expires_at).toBeGreaterThan(Date.now() / 1000 + 89 * 24 * 3600);
  await using server = await serve();
  const headers = { "X-API-Key": api_key };
  expect((await fetch(`${server.url}/v1/assets`, { headers })).status).toBe(200);
  expect((await fetch(`${server.url}/v1/users`, { headers })).status).toBe(403);
  for (const wrong of [
    ["--role", "root"],
    ["--expires", "yesterday"],
    ["--expires", "2020-01-01T00:00:00Z"],
  ])
    expect((await edgeControl(...create, ...wrong, "--data-dir", dataDir)).code, String(wrong)).toBeGreaterThan(0);
});
