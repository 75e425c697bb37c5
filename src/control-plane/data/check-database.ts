import { DatabaseSync } from "node:sqlite";
import { MIGRATIONS } from "../store/sqlite/migrations.ts";

/** A file is not a usable database of edge-control. The message says why. */
class UnusableDatabaseError extends Error {
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`${path} cannot be used: ${reason}`, options);
    this.name = "UnusableDatabaseError";
  }
}

/** Checks that a file is an undamaged database of this or an earlier schema version. Throws when it is not. */
export function checkDatabase(path: string): void {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    try {
      checkOpen(path, database);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof UnusableDatabaseError) throw error;
    throw new UnusableDatabaseError(path, error instanceof Error ? error.message : "unknown failure", { cause: error });
  }
}

function checkOpen(path: string, database: DatabaseSync): void {
  const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  const isOurs = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'api_keys'").get() !== undefined;
  if (version < 1 || !isOurs) throw new UnusableDatabaseError(path, "it is not a database of edge-control");
  if (version > MIGRATIONS.length) {
    throw new UnusableDatabaseError(
      path,
      `it has schema version ${version}, this program knows up to ${MIGRATIONS.length}`,
    );
  }
  const damage = database.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
  if (damage !== "ok") throw new UnusableDatabaseError(path, `it is damaged: ${String(damage)}`);
}
