import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { run } from "../../support/command.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const SECRET = "a-secret-that-nobody-sees";

let dataDir: string;
let secretFile: string;
let account: string;

const command = (...args: string[]) => edgeControl(...args, "--data-dir", dataDir, "--json");
const set = (...args: string[]) =>
  command("sim-operator", "set", "--account", account, "--secret-file", secretFile, ...args);
const remove = (type: string) => command("sim-operator", "remove", "--account", account, "--type", type);
const show = async (...args: string[]) =>
  JSON.parse((await command("sim-operator", "show", ...args)).stdout) as unknown[];

beforeEach(async () => {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  dataDir = join(directory.path, "data");
  secretFile = join(directory.path, "secret");
  await writeFile(secretFile, `${SECRET}\n`, { mode: 0o600 });
  await openStore(prepareDataDir(dataDir).database)[Symbol.asyncDispose]();
  const created = await command("account", "create", "Acme");
  account = (JSON.parse(created.stdout) as { account_id: string }).account_id;
});

describe("an account's own credentials", () => {
  test("are set, shown without the secret, replaced and removed, and the audit log says so", async () => {
    const outputs = [
      await set("--type", "supersim", "--client-id", "edge"),
      await set("--type", "supersim", "--account-sid", "AC1", "--url", "https://supersim.twilio.com"),
      await set("--type", "prosim"),
    ];
    expect(outputs.map(({ code, stderr }) => `${code}${stderr}`)).toEqual(["0", "0", "0"]);
    const changed = { changed_at: expect.any(Number) as number, key_id: expect.stringMatching(/^key_/) as string };
    const prosim = { account_id: account, sim_type: "prosim", url: "https://cdn.emnify.net", ...changed };
    const supersim = {
      account_id: account,
      sim_type: "supersim",
      url: "https://supersim.twilio.com",
      account_sid: "AC1",
      ...changed,
    };
    expect(await show()).toEqual([prosim, supersim]);
    expect(await show("--account", account)).toEqual([prosim, supersim]);
    for (const removed of [true, false]) expect(JSON.parse((await remove("prosim")).stdout)).toEqual({ removed });
    expect(await show()).toEqual([supersim]);
    const { database } = prepareDataDir(dataDir);
    {
      await using store = openStore(database);
      const entries = await store.audit.listEntries(account, 10, { actions: ["sim_operator.set"] });
      expect(entries.map(({ details }) => details["sim_type"])).toEqual(["prosim", "supersim", "supersim"]);
      expect(entries[0]).toMatchObject({ actor: { kind: "command_line" }, subject: { id: "prosim" } });
      const removals = await store.audit.listEntries(account, 10, { actions: ["sim_operator.removed"] });
      expect(removals).toHaveLength(1);
    }
    // Neither in what is stored nor in what is printed.
    for (const file of [database, `${database}-wal`])
      expect((await readFile(file).catch(() => Buffer.alloc(0))).includes(SECRET), file).toBe(false);
    expect(outputs.map(({ stdout }) => stdout).join("")).not.toContain(SECRET);
  });

  test("come from standard input, too", async () => {
    const args = ["sim-operator", "set", "--account", account, "--type", "prosim", "--data-dir", dataDir];
    const input = { input: `${SECRET}\n` };
    const { code, stderr } = await run(process.execPath, [MAIN, ...args, "--secret-file", "-"], input);
    expect([code, stderr]).toEqual([0, ""]);
    expect(await show()).toMatchObject([{ sim_type: "prosim" }]);
    const empty = await run(process.execPath, [MAIN, ...args, "--secret-file", "-"], { input: "\n" });
    expect(empty.stderr).toContain("standard input does not contain one line with the secret");
  });

  test("go with their account", async () => {
    await set("--type", "prosim");
    const { database } = prepareDataDir(dataDir);
    const opened = new DatabaseSync(database, { enableForeignKeyConstraints: true });
    opened.exec("DELETE FROM accounts");
    expect(opened.prepare("SELECT count(*) AS n FROM sim_operator_credentials").get()?.["n"]).toBe(0);
    opened.close();
  });

  test.each([
    ["without the id of a client or account", ["--type", "supersim"], "give --client-id, or --account-sid"],
    [
      "with both",
      ["--type", "supersim", "--client-id", "a", "--account-sid", "b"],
      "give --client-id, or --account-sid",
    ],
    ["with an id for a PRO SIM", ["--type", "prosim", "--client-id", "x"], "an application token alone"],
    [
      "with an address that is not encrypted",
      ["--type", "prosim", "--url", "http://example.com"],
      "prosim.url: must be",
    ],
    [
      "with a password in the address",
      ["--type", "prosim", "--url", "https://:pw-text@example.com"],
      "prosim.url: must be",
    ],
    ["for an account that is not there", ["--type", "prosim", "--account", "acc_none"], "there is no account acc_none"],
    ["from a file that is not there", ["--type", "prosim", "--secret-file", "/nowhere/secret"], "ENOENT"],
  ])("%s are refused, and nothing is stored", async (_what, args, reason) => {
    const { code, stdout, stderr } = await set(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(reason);
    expect(stdout + stderr).not.toMatch(/pw-text|a-secret/);
    expect(await show()).toEqual([]);
  });

  test.each([
    [0o640, SECRET, "other users can access"],
    [0o604, SECRET, "run chmod 600"],
    [0o600, `${SECRET}\nand more`, "does not contain one line with the secret"],
    [0o600, " \n", "does not contain one line with the secret"],
  ])("from a file with permissions %o and %j are refused", async (mode, text, reason) => {
    await writeFile(secretFile, text);
    await chmod(secretFile, mode);
    const { code, stderr } = await set("--type", "prosim");
    expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
    expect(stderr).not.toContain(SECRET);
    expect(await show()).toEqual([]);
  });

  test("that the key file cannot open are shown as such, and never checked with the service's", async () => {
    await set("--type", "prosim");
    const keyFile = join(dataDir, "secrets.key");
    const keys = await readFile(keyFile, "utf8");
    // The same id with other bytes, as from a file of another installation.
    await writeFile(keyFile, keys.replace(/[0-9a-f]{8}\n/, "00000000\n"));
    expect(await show()).toMatchObject([
      { problem: expect.stringContaining("cannot open prosim credentials") as string },
    ]);
    const { code, stdout } = await command("sim-operator", "check", "--account", account);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject([{ credentials: "account", isAllowed: false }]);
  });
});

describe("sim-operator check --account", () => {
  let kore: SuperSimSimulator;
  let emnify: EmnifySimulator;
  let config: string;
  beforeEach(async () => {
    kore = await SuperSimSimulator.start();
    onTestFinished(() => kore[Symbol.asyncDispose]());
    emnify = await EmnifySimulator.start();
    onTestFinished(() => emnify[Symbol.asyncDispose]());
    config = join(dataDir, "config.json");
    const token = join(dataDir, "emnify-token");
    await writeFile(token, emnify.applicationToken, { mode: 0o600 });
    const prosim = { url: emnify.url, application_token_file: token };
    await writeFile(config, JSON.stringify({ data_dir: dataDir, sim_operators: { prosim } }));
    await writeFile(secretFile, kore.clientSecret);
  });

  const check = (...args: string[]) =>
    edgeControl("sim-operator", "check", "--account", account, "--config", config, ...args);
  const setOwn = () =>
    set("--type", "supersim", "--client-id", kore.clientId, "--url", kore.url, "--token-url", kore.tokenUrl);

  test("tries its own credentials, and the service's where it has none, without changing anything", async () => {
    expect(await setOwn()).toMatchObject({ code: 0 });
    const { code, stdout } = await check();
    expect(code, stdout).toBe(0);
    const lines = stdout.split("\n");
    expect(lines.filter((line) => /^supersim +the account +read .* yes /.test(line))).toHaveLength(3);
    expect(lines.filter((line) => /^prosim +the service +read .* yes /.test(line))).toHaveLength(2);
    expect(kore.count(/POST \/v1/) + emnify.count(/PATCH/)).toBe(0);
    expect(stdout).not.toContain(kore.clientSecret);
  });

  test("says that credentials were revoked, with few requests", async () => {
    await setOwn();
    kore.isRevoked = true;
    const { code, stdout, stderr } = await check();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^supersim +the account +read SIMs +no +.*the credentials are wrong or revoked/m);
    expect(stdout).toMatch(/^prosim +the service +read SIMs +yes/m);
    expect(stdout + stderr).not.toContain(kore.clientSecret);
    expect(kore.count()).toBe(1);
  });

  test("of an account that uses none says what to do", async () => {
    await writeFile(config, JSON.stringify({ data_dir: dataDir }));
    const { code, stderr } = await check();
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${account} has no SIM operator: set its credentials`)]);
    const stranger = await check("--account", "acc_none");
    expect(stranger.stderr).toContain("there is no account acc_none");
  });
});
