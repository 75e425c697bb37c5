import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { openPostgresStore } from "../../../../src/control-plane/store/postgres/open-store.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { PostgresDatabases } from "../../../support/postgres-store.ts";
import { rowStatements, TRIGGERS } from "./rows.ts";

/** A store with so many rows. */
export interface FilledStore {
  readonly rows: number;
  readonly store: Store;
  /** Pages of the database, of 8 kB, that `work` has read, from memory or disk; `undefined` where it does not say. */
  countBuffers(work: () => Promise<unknown>): Promise<number | undefined>;
}

/** Returns SQLite files with so many rows each. The folder is the caller's. */
export async function fillSqlite(
  folder: string,
  sizes: readonly number[],
  owner: AsyncDisposableStack,
): Promise<readonly FilledStore[]> {
  return sizes.map((rows) => {
    const path = join(folder, `pages-${rows}.sqlite`);
    const store = owner.use(openStore(path));
    using database = new DatabaseSync(path);
    for (const name of Object.values(TRIGGERS).flat()) database.exec(`DROP TRIGGER ${name}`);
    database.exec(`BEGIN; ${rowStatements(rows).join(";")}; COMMIT`);
    return {
      rows,
      store,
      countBuffers: async (work) => {
        await work();
        return undefined;
      },
    };
  });
}

/** Statistics of the statements themselves, of this one excepted. */
const BUFFERS = "SELECT sum(shared_blks_hit + shared_blks_read) FROM pg_stat_statements";

/** Returns databases of one PostgreSQL server with so many rows each. */
export async function fillPostgres(
  sizes: readonly number[],
  owner: AsyncDisposableStack,
): Promise<readonly FilledStore[]> {
  const settings = [
    "shared_preload_libraries = 'pg_stat_statements'",
    "shared_buffers = '512MB'",
    "max_wal_size = '4GB'",
  ];
  const databases = owner.use(await PostgresDatabases.start({ settings }));
  const { server } = databases;
  await server.execute("CREATE EXTENSION pg_stat_statements");
  const filled: FilledStore[] = [];
  for (const rows of sizes) {
    const options = await databases.create();
    const triggers = Object.keys(TRIGGERS).map((table) => `ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await server.execute([...triggers, ...rowStatements(rows)].join(";"), options.database);
    await server.execute("VACUUM ANALYZE", options.database);
    const store = owner.use(await openPostgresStore(options));
    filled.push({
      rows,
      store,
      async countBuffers(work) {
        await server.execute("SELECT pg_stat_statements_reset()");
        await work();
        return Number(await server.execute(BUFFERS));
      },
    });
  }
  return filled;
}
