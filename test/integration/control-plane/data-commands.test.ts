import { rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { apiClient } from "../../support/api-client.ts";
import { type RunningCommand, start } from "../../support/command.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** The executable in a process of its own. */
const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const ICCID = "8988307001000000001";

let directory: Awaited<ReturnType<typeof tempDir>>;
let dataDir: string;
let account: string;
let apiKey: string;

beforeEach(async () => {
  directory = await tempDir();
  dataDir = join(directory.path, "data");
  await openStore(prepareDataDir(dataDir).database)[Symbol.asyncDispose]();
  account = String((await administer("account", "create", "Acme"))["account_id"]);
  apiKey = String((await administer("key", "create", "--account", account, "--name", "test"))["api_key"]);
  const sim = `--supersim-sid HS1 --supersim-iccid ${ICCID} --network-group default_1gb`.split(" ");
  await administer("asset", "add", "--account", account, "--serial-number", "GW-1", ...sim);
});
afterEach(() => directory[Symbol.asyncDispose]());

async function administer(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await edgeControl(...args, "--data-dir", dataDir, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function refused(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await edgeControl(...args, "--data-dir", dataDir);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  return stderr;
}

async function serve(): Promise<{ readonly url: string; readonly process: RunningCommand } & AsyncDisposable> {
  const child = start(process.execPath, [MAIN, "serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0"]);
  await child.waitForOutput('"msg":"listening"');
  const port = /"port":(\d+)/.exec(child.stdout())?.[1];
  return { url: `http://127.0.0.1:${port}`, process: child, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

async function usageFile(...lines: string[]): Promise<string> {
  const path = join(directory.path, "usage.csv");
  const header = "iccid,network_group_or_service_profile,start_time,end_time,bytes";
  await writeFile(path, [header, ...lines, ""].join("\n"));
  return path;
}

test("a database without content, as a power cut leaves it, is neither served nor taken for a new one; a backup is restored", async () => {
  const backup = join(directory.path, "backup.sqlite");
  await administer("backup", backup);
  await Promise.all(["-wal", "-shm"].map((end) => rm(join(dataDir, `edge-control.sqlite${end}`), { force: true })));
  await truncate(join(dataDir, "edge-control.sqlite"));
  expect(await refused("account", "list")).toMatch(/edge-control\.sqlite is empty: restore a backup/);
  await using child = start(process.execPath, [MAIN, "serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0"]);
  expect(await child.exited).toBe(1);
  expect(child.stderr()).toContain("is empty: restore a backup");
  await administer("restore", backup);
  expect(JSON.stringify(await administer("account", "list"))).toContain(account);
});

test("usage is imported beside a running server, which returns it at once; an invalid file changes nothing", async () => {
  await using server = await serve();
  const api = apiClient(server, { apiKey });
  const usages = async () =>
    (await api.get("/v1/assets/GW-1/sims/supersim/usages?start_time=0&end_time=10000000")).body["usages"];
  const good = await usageFile(`${ICCID},default_1gb,0,3600,5`, `${ICCID},default_1gb,3600,7200,6`);
  expect(await administer("usage", "import", good)).toEqual({ imported: 2, unchanged: 0, skipped: 0 });
  expect(await usages()).toEqual([{ network_group: "default_1gb", total: 11 }]);
  expect(await administer("usage", "import", good)).toEqual({ imported: 0, unchanged: 2, skipped: 0 });
  const bad = await usageFile(`${ICCID},default_1gb,7200,9000,100`, `${ICCID},default_1gb,7200,9000,many`);
  expect(await refused("usage", "import", bad)).toContain("line 3: bytes: must be an integer");
  const unknown = await usageFile("8988307009999999999,default_1gb,0,3600,5");
  expect(await refused("usage", "import", unknown)).toContain("line 2: no asset has a SIM");
  expect(await administer("usage", "import", unknown, "--skip-unknown")).toEqual({
    imported: 0,
    unchanged: 0,
    skipped: 1,
  });
  expect(await refused("usage", "import", join(directory.path, "none.csv"))).toContain("ENOENT");
  expect(await usages()).toEqual([{ network_group: "default_1gb", total: 11 }]);
});

test("a network group added beside a running server can be used at once", async () => {
  await using server = await serve();
  const api = apiClient(server, { apiKey });
  const wish = { supersim: { network_group: "own-group" } };
  expect((await api.patch("/v1/assets/GW-1", wish)).body["code"]).toBe("UnknownNetworkGroup");
  await administer("network-group", "add", "own-group", "--account", account);
  await administer("network-group", "add", "own-group", "--account", account);
  expect((await api.patch("/v1/assets/GW-1", wish)).body).toMatchObject(wish);
  expect(await administer("network-group", "list", "--account", account)).toEqual({
    default: ["default_100mb", "default_1gb", "default_10gb", "default_unlimited"],
    own: ["own-group"],
  });
  expect(await refused("network-group", "add", "no spaces", "--account", account)).toContain("1 to 64 letters");
  expect(await refused("network-group", "add", "default_1gb", "--account", account)).toContain("default group");
  expect(await refused("network-group", "add", "x", "--account", "acc_none")).toContain("no account acc_none");
});

test("a backup works beside a running server, a restore only when it has stopped; then it serves the backup", async () => {
  const file = join(directory.path, "backup.db");
  {
    await using server = await serve();
    expect(await administer("backup", file)).toEqual({ backup: file });
    await apiClient(server, { apiKey }).patch("/v1/assets/GW-1", { name: "After the backup" });
    expect(await refused("restore", file)).toContain("stop it before restoring");
    expect((await apiClient(server, { apiKey }).get("/v1/assets/GW-1")).body).toMatchObject({
      name: "After the backup",
    });
    // Power loss: changes that are only in the write-ahead log must be kept.
    server.process.kill("SIGKILL");
    await server.process.exited;
  }
  const { replaced } = await administer("restore", file);
  {
    await using server = await serve();
    expect((await apiClient(server, { apiKey }).get("/v1/assets/GW-1")).body).toMatchObject({ name: "GW-1" });
    server.process.kill("SIGTERM");
    await server.process.exited;
  }
  await administer("restore", String(replaced));
  await using server = await serve();
  expect((await apiClient(server, { apiKey }).get("/v1/assets/GW-1")).body).toMatchObject({ name: "After the backup" });
});

test("restore refuses a file that is not a backup, in one line", async () => {
  const file = join(directory.path, "backup.db");
  await writeFile(file, "this is not a database");
  expect(await refused("restore", file)).toContain("cannot be used");
  expect(await refused("restore", join(directory.path, "none"))).toContain("ENOENT");
  expect(await administer("network-group", "list", "--account", account)).toHaveProperty("own", []);
});
