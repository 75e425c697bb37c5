import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { run, type RunningCommand, start, succeed } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const COUNT = 60;

let directory: Awaited<ReturnType<typeof tempDir>>;
let dataDir: string;
let keyFile: string;
beforeEach(async () => {
  directory = await tempDir();
  dataDir = join(directory.path, "data");
  keyFile = join(dataDir, "secrets.key");
});
afterEach(() => directory[Symbol.asyncDispose]());

const command = (...args: string[]) => [MAIN, ...args, "--data-dir", dataDir];

async function administer(...args: string[]): Promise<Record<string, string>> {
  return JSON.parse(await succeed(process.execPath, command(...args, "--json"))) as Record<string, string>;
}

async function serve(): Promise<RunningCommand> {
  const server = start(process.execPath, command("serve", "--listen", "127.0.0.1:0"));
  await server.waitForOutput('"msg":"listening"');
  return server;
}

/** Makes an asset. Returns what calls its variables. */
async function variablesOf(server: RunningCommand) {
  const { account_id: account = "" } = await administer("account", "create", "Acme");
  const { api_key: key } = await administer("key", "create", "--account", account, "--name", "ops");
  await administer("asset", "add", "--account", account, "--serial-number", "GW-1");
  const port = /"port":(\d+)/.exec(server.stdout() + server.stderr())?.[1];
  return async (
    method: string,
    body?: object,
    query = "?reveal=values",
  ): Promise<Record<string, { value: string }>> => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/assets/GW-1/variables${method === "GET" ? query : ""}`, {
      method,
      headers: { "X-API-Key": key ?? "", ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Record<string, { value: string }>;
  };
}

const keyIds = async () =>
  (await readFile(keyFile, "utf8"))
    .trim()
    .split("\n")
    .map((line) => line.split(" ")[0]);

test("a service reads and writes variables before, during and after a rotation; a killed one is finished", async () => {
  await using server = await serve();
  const call = await variablesOf(server);
  const names = Array.from({ length: COUNT }, (_, index) => `V${index}`);
  await call("PUT", Object.fromEntries(names.map((name) => [name, { value: name }])));
  const [first] = await keyIds();

  // A transaction holds the command up between its write of the file and its first write of the database.
  const database = new DatabaseSync(join(dataDir, "edge-control.sqlite"));
  try {
    database.exec("BEGIN IMMEDIATE");
    await using killed = start(process.execPath, command("secrets", "rotate"));
    await killed.waitUntil("the new key is in the file", async () => (await keyIds()).length === 2);
    killed.kill("SIGKILL");
    await killed.exited;
  } finally {
    database.close();
  }
  const [, second] = await keyIds();
  expect(Object.keys(await call("GET"))).toHaveLength(COUNT);

  await using rotating = start(process.execPath, command("secrets", "rotate", "--json"));
  // Paced, because the service limits the changes of an account.
  let changes = 0;
  const ended = rotating.exited.then(() => true);
  do {
    await call("PATCH", { V0: { value: `changed ${++changes}` } });
    const values = await call("GET");
    expect(values["V0"]?.value).toBe(`changed ${changes}`);
    expect(values["V59"]?.value).toBe("V59");
    // Twice at least, also where the command is faster than two changes.
  } while (!(await Promise.race([ended, setTimeout(250, false)])) || changes < 2);
  expect(rotating.stderr()).toBe("");
  expect(await rotating.exited).toBe(0);
  expect(JSON.parse(rotating.stdout())).toMatchObject({ key_id: second, resumed: true });
  expect(await keyIds()).toEqual([first, second]);

  const refused = await run(process.execPath, command("secrets", "prune"));
  expect(refused.stderr).toContain(`cannot be opened without ${first}`);
  expect(await administer("secrets", "prune", "--yes")).toEqual({ removed: [first] });
  expect(await administer("secrets", "status")).toEqual([
    { key_id: second, is_current: true, created_at: expect.any(Number), values: COUNT, in_file: true },
  ]);
  await call("PATCH", { NEW: { value: "after" } });
  expect((await call("GET"))["NEW"]?.value).toBe("after");
  expect(await keyIds()).toEqual([second]);
});

test("a signal as soon as the service listens stops it in order", async () => {
  await using server = await serve();
  server.kill("SIGTERM");
  expect(await server.exited).toBe(0);
});
