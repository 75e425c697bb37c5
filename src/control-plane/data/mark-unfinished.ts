import { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "../store/sqlite/migrations.ts";

/** The first schema version whose deployments may be in doubt. */
const MIN_UNCERTAINTY_SCHEMA_VERSION = 5;

/**
 * Notes in a copy of the database which deployments were unfinished when it was taken: a service that starts with the copy
 * asks the devices what became of them. Does nothing in one of an earlier version; `restore` brings those up to date first.
 */
export function markUnfinishedUncertain(path: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version < MIN_UNCERTAINTY_SCHEMA_VERSION || version > MIGRATIONS.length) return;
    database.exec("UPDATE deployments SET doubt = 'backup', version = version + 1 WHERE status = 'Running'");
  } finally {
    database.close();
  }
}
