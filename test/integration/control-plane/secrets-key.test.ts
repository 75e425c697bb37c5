import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { run, start } from "../../support/command.ts";
import { someSealingKey } from "../../support/control-plane/sealing-key.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");

let directory: Awaited<ReturnType<typeof tempDir>>;
let dataDir: string;
let keyFile: string;
beforeEach(async () => {
  directory = await tempDir();
  dataDir = join(directory.path, "data");
  keyFile = join(dataDir, "secrets.key");
});
afterEach(() => directory[Symbol.asyncDispose]());

const serving = () => ["serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0"];

const administer = (...args: string[]) => run(process.execPath, [MAIN, ...args, "--data-dir", dataDir]);

/** Starts the service, and kills it when it listens. */
async function serveOnce(): Promise<void> {
  await using server = start(process.execPath, [MAIN, ...serving()]);
  await server.waitForOutput('"msg":"listening"');
}

/** Expects that the service does not start. Returns what it says. */
async function refusalToServe(): Promise<string> {
  const { code, stderr } = await run(process.execPath, [MAIN, ...serving()]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^edge-control: [^\n]+\n$/);
  return stderr;
}

/** Stores a revision as sealed with this key. */
function storeRevision(keyId: string, number: number): void {
  const database = new DatabaseSync(join(dataDir, "edge-control.sqlite"));
  try {
    database.exec(`
      INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'Acme', 1) ON CONFLICT DO NOTHING;
      INSERT INTO fleets (id, account_id, name, selector, apps, strategy, created_at_ms)
        VALUES ('flt_1', 'acc_1', 'kiosks', '', '[]', '{}', 1) ON CONFLICT DO NOTHING;
      INSERT INTO fleet_revisions (fleet_id, number, apps, hash, created_at_ms, created_by, key_id, sealed)
        VALUES ('flt_1', ${number}, '[]', '', 1, '{}', '${keyId}', x'01')`);
  } finally {
    database.close();
  }
}

test("the first start makes a private key file, which later starts use", async () => {
  await serveOnce();
  const text = await readFile(keyFile, "utf8");
  expect(text).toMatch(/^key_[0-9a-f]{24} [0-9a-f]{64}\n$/);
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
  await serveOnce();
  expect(await readFile(keyFile, "utf8")).toBe(text);
});

test("does not start without each key that something is sealed with, and starts with all of them", async () => {
  await serveOnce();
  const text = await readFile(keyFile, "utf8");
  const [id = ""] = text.split(" ");
  const older = someSealingKey();
  storeRevision(id, 1);
  storeRevision(older.id, 2);
  expect(await refusalToServe()).toContain(`${keyFile} does not have the sealing key ${older.id} of the database`);
  await rm(keyFile);
  expect(await refusalToServe()).toContain("put the file that belongs to the database in its place");
  await expect(stat(keyFile)).rejects.toThrow("ENOENT");
  await writeFile(keyFile, `${older.id} ${Buffer.from(older.bytes).toString("hex")}\n${text}`, { mode: 0o600 });
  await serveOnce();
});

test("does not start with a file that others can read, or that is damaged", async () => {
  await serveOnce();
  await chmod(keyFile, 0o640);
  expect(await refusalToServe()).toContain(`run chmod 600 ${keyFile}`);
  await chmod(keyFile, 0o600);
  await writeFile(keyFile, "key_1");
  expect(await refusalToServe()).toContain(`${keyFile} is not a file of sealing keys`);
});

test("a backup leaves the key file out, and says so; so does a restore", async () => {
  await serveOnce();
  const file = join(directory.path, "backup.db");
  const backup = await administer("backup", file);
  expect(backup.stdout).toContain("secrets_key_file) is not part of it");
  const [, key = ""] = (await readFile(keyFile, "utf8")).trim().split(" ");
  const content = await readFile(file);
  expect(content.includes(key) || content.includes(Buffer.from(key, "hex"))).toBe(false);
  expect((await administer("restore", file)).stdout).toContain(
    "put the key file that belongs to the backup in its place",
  );
});
