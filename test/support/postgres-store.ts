import { migratePostgres } from "../../src/control-plane/store/postgres/migrations.ts";
import { PostgresServer } from "./postgres.ts";

const TEMPLATE = "migrated";

/** A PostgreSQL server with a database that has the schema of the store, of which each test gets a copy. */
export async function startMigratedPostgres(
  options: Parameters<typeof PostgresServer.start>[0] = {},
): Promise<PostgresServer> {
  const server = await PostgresServer.start(options);
  try {
    await server.execute(`CREATE DATABASE ${TEMPLATE} TEMPLATE template0`);
    await migratePostgres(server.options(TEMPLATE));
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

/** Creates a database with the schema of the store and returns its name. */
export function createMigratedDatabase(server: PostgresServer): Promise<string> {
  return server.createDatabase(TEMPLATE);
}
