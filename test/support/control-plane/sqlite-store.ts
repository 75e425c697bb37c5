import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { tempDir } from "../temp-dir.ts";

let migrated: Promise<Uint8Array> | undefined;

/**
 * Opens or creates a database file as the service does. A new one is a copy of one that this process has migrated before:
 * migrating takes longer than most tests.
 */
export async function openSqliteStore(path: string): Promise<Store> {
  if (!existsSync(path)) await writeFile(path, await (migrated ??= migrate()), { mode: 0o600 });
  return openStore(path);
}

async function migrate(): Promise<Uint8Array> {
  await using directory = await tempDir();
  const path = join(directory.path, "migrated.sqlite");
  // Closed, the database is whole without its WAL.
  await openStore(path)[Symbol.asyncDispose]();
  return await readFile(path);
}
