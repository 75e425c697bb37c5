import { migratePostgres } from "../../src/control-plane/store/postgres/migrations.ts";
import type { PostgresOptions } from "../../src/control-plane/store/postgres/options.ts";
import { PostgresServer } from "./postgres.ts";

const TEMPLATE = "migrated";

/** Removes what tests have stored. Quicker than a new database. */
const EMPTY = `
  DELETE FROM deployments; DELETE FROM assets; DELETE FROM usage_records; DELETE FROM network_groups; DELETE FROM api_keys;
  DELETE FROM accounts; DELETE FROM account_bytes; DELETE FROM audit; DELETE FROM instances; DELETE FROM leases;
  UPDATE service_state SET alive_at_ms = NULL, database_identity = NULL, clock_shift_ms = 0, clock_version = 0`;

/** An empty database with the schema of the store. Disposing it gives it back, after its store was closed. */
interface TestDatabase extends AsyncDisposable {
  readonly options: PostgresOptions;
}

/** A PostgreSQL server with databases that have the schema of the store. */
export class PostgresDatabases implements AsyncDisposable {
  readonly server: PostgresServer;
  readonly #used: string[] = [];

  private constructor(server: PostgresServer) {
    this.server = server;
  }

  static async start(options: Parameters<typeof PostgresServer.start>[0] = {}): Promise<PostgresDatabases> {
    const server = await PostgresServer.start(options);
    try {
      await server.execute(`CREATE DATABASE ${TEMPLATE} TEMPLATE template0`);
      await migratePostgres(server.options(TEMPLATE));
      return new PostgresDatabases(server);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  async take(): Promise<TestDatabase> {
    const used = this.#used.pop();
    if (used !== undefined) await this.server.execute(EMPTY, used);
    const name = used ?? (await this.server.createDatabase(TEMPLATE));
    return {
      options: this.server.options(name),
      [Symbol.asyncDispose]: async () => {
        this.#used.push(name);
      },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}
