import { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "../store/sqlite/migrations.ts";

/**
 * Marks the outcomes of unfinished deployments in a copy of the database as uncertain. A server that starts with the copy
 * queries the devices for them. Does nothing for another schema version; `restore` migrates the copy first.
 */
export function markUnfinishedUncertain(path: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version !== MIGRATIONS.length) return;
    database.exec("UPDATE deployments SET uncertainty = 'backup', version = version + 1 WHERE status = 'Running'");
  } finally {
    database.close();
  }
}
