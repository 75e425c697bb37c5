import { resolve } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { describePermissionChanges } from "../lib/file-permissions.ts";
import { tryLock } from "../lib/instance-lock.ts";
import type { Output } from "../lib/terminal/output.ts";
import { type CliContext, ServiceCommandError } from "./cli/context.ts";
import { DATA_DIR_VARIABLE } from "./config/config.ts";
import { backup, backupInto } from "./data/backup.ts";
import { type DataDir, explainEmptyDatabase, findDataDir, giveToOwner, prepareDataDir } from "./data/data-dir.ts";
import { restore } from "./data/restore.ts";
import type { PostgresOptions } from "./store/postgres/options.ts";
import { openStore } from "./store/sqlite/open-store.ts";
import type { Store } from "./store/store.ts";

/** The composition root of the commands that administer a database: chooses the implementation of the store. */
export function databaseCommands(stderr: Pick<Output, "write">): Pick<CliContext, "openStore" | "database"> {
  /** Reports corrected permissions. */
  const report = ({ permissionChanges }: DataDir): void => {
    if (permissionChanges.length === 0) return;
    const changes = describePermissionChanges(permissionChanges).join(", ");
    stderr.write(`edge-control: ${PERMISSIONS_MESSAGE}: ${changes}\n`);
  };

  const find = (path: string): DataDir => {
    const dataDir = requireDataDir(path);
    report(dataDir);
    const why = explainEmptyDatabase(dataDir);
    if (why !== undefined) throw new ServiceCommandError(why);
    return dataDir;
  };

  return {
    async openStore(database) {
      if (database.kind === "postgres") return openPostgres(database.options);
      return openStore(find(database.dataDir).database);
    },
    database: {
      migrate: async (options) => (await import("./store/postgres/migrations.ts")).migratePostgres(options),
      async copy(path, to, target) {
        const dataDir = find(path);
        using lock = tryLock(dataDir.lock);
        if (!lock) throw new ServiceCommandError(`an edge-control serves ${path}; stop it before copying`);
        const { copyDatabase } = await import("./data/copy/copy.ts");
        return copyDatabase({ database: dataDir.database, to, target });
      },
      markRestored: async (options) =>
        (await import("./store/postgres/maintenance.ts")).markUnfinishedRestored(options),
      backup: (path, file) => backup(find(path).database, file),
      backupInto: (path, directory, keep) => backupInto(find(path).database, directory, keep, systemClock.now()),
      async restore(path, file, isNamed) {
        const dataDir = isNamed ? prepareDataDir(path) : requireDataDir(path);
        report(dataDir);
        using lock = tryLock(dataDir.lock);
        if (!lock) throw new ServiceCommandError(`an edge-control serves ${path}; stop it before restoring`);
        const now = new Date(systemClock.now()).toISOString().replaceAll(":", "-");
        const replaced = await restore(file, dataDir.database, `.replaced-${now}`);
        giveToOwner(path);
        return replaced;
      },
    },
  };
}

export const PERMISSIONS_MESSAGE = "permissions were taken from other users, who could read the data directory";

/** Loaded lazily: most installations use SQLite. */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const [{ openPostgresStore }, { requireCompleteCopy }] = await Promise.all([
    import("./store/postgres/open-store.ts"),
    import("./store/postgres/maintenance.ts"),
  ]);
  await requireCompleteCopy(options);
  return openPostgresStore(options);
}

/** A command never creates a database: in a wrong directory it would be a second one, which no server uses. */
function requireDataDir(path: string): DataDir {
  const dataDir = findDataDir(path);
  if (dataDir) return dataDir;
  throw new ServiceCommandError(
    `there is no database in ${resolve(path)}: give the same --data-dir, --config or ${DATA_DIR_VARIABLE} as to ` +
      "`edge-control serve`, which creates the database",
  );
}
