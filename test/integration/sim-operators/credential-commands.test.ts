import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { run } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const SECRET = "a-secret-that-nobody-sees";

let dataDir: string;
let secretFile: string;
let account: string;

const edgeControl = (...args: string[]) => run(process.execPath, [MAIN, ...args, "--data-dir", dataDir, "--json"]);
const set = (...args: string[]) =>
  edgeControl("sim-operator", "set", "--account", account, "--secret-file", secretFile, ...args);

beforeEach(async () => {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  dataDir = join(directory.path, "data");
  secretFile = join(directory.path, "secret");
  await writeFile(secretFile, `${SECRET}\n`);
  await openStore(prepareDataDir(dataDir).database)[Symbol.asyncDispose]();
  const created = await edgeControl("account", "create", "Acme");
  account = (JSON.parse(created.stdout) as { account_id: string }).account_id;
});

test("credentials are set, shown without the secret, replaced and removed, and the audit log says so", async () => {
  expect(await set("--type", "supersim", "--client-id", "edge")).toMatchObject({ code: 0, stderr: "" });
  expect(await set("--type", "supersim", "--account-sid", "AC1")).toMatchObject({ code: 0 });
  expect(await set("--type", "prosim")).toMatchObject({ code: 0 });
  const shown = await edgeControl("sim-operator", "show");
  expect(shown.stdout).not.toContain(SECRET);
  expect(JSON.parse(shown.stdout)).toMatchObject([
    { account_id: account, sim_type: "prosim" },
    { account_id: account, sim_type: "supersim" },
  ]);
  const { database } = prepareDataDir(dataDir);
  expect((await readFile(database)).includes(SECRET)).toBe(false);
  const remove = ["sim-operator", "remove", "--account", account, "--type", "prosim"];
  for (const removed of [true, false]) expect(JSON.parse((await edgeControl(...remove)).stdout)).toEqual({ removed });
  await using store = openStore(database);
  const entries = await store.audit.listEntries(account, 10);
  expect(entries.map(({ action }) => action).filter((action) => action.startsWith("sim_operator"))).toEqual([
    "sim_operator.removed",
    "sim_operator.set",
    "sim_operator.set",
    "sim_operator.set",
  ]);
});

test.each([
  ["without the id of a client or account", ["--type", "supersim"], "set client_id and client_secret_file"],
  ["with an id for a PRO SIM", ["--type", "prosim", "--client-id", "x"], "client_id"],
  ["with an address that is not encrypted", ["--type", "prosim", "--url", "http://example.com"], "must be an address"],
  ["for an account that is not there", ["--type", "prosim", "--account", "acc_none"], "acc_none"],
])("credentials %s are refused, and nothing is stored", async (_what, args, reason) => {
  const { code, stderr } = await set(...args);
  expect(code).toBe(1);
  expect(stderr).toContain(reason);
  expect(JSON.parse((await edgeControl("sim-operator", "show")).stdout)).toEqual([]);
});
