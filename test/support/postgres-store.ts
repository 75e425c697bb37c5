import { migratePostgres } from "../../src/control-plane/store/postgres/migrations.ts";
import type { PostgresOptions } from "../../src/control-plane/store/postgres/options.ts";
import { PostgresPool } from "../../src/control-plane/store/postgres/pool.ts";
import { PostgresServer } from "./postgres.ts";

const TEMPLATE = "migrated";

/** Owns its databases, and has no other rights, as the documentation sets it up. */
const OWNER = "edge_control";

/** Removes what tests have stored. Quicker than a new database. */
const EMPTY = `
  DELETE FROM deployments; DELETE FROM fleets; DELETE FROM assets; DELETE FROM usage_series; DELETE FROM network_groups; DELETE FROM api_keys;
  DELETE FROM one_time_codes; DELETE FROM login_requests; DELETE FROM idempotent_requests; DELETE FROM users; DELETE FROM accounts; DELETE FROM account_bytes; DELETE FROM audit; DELETE FROM instances; DELETE FROM leases;
  DELETE FROM account_events; DELETE FROM account_event_heads; DELETE FROM sealing_keys; DELETE FROM bus_keys;
  DELETE FROM agent_releases; DELETE FROM agent_release_pieces; DELETE FROM upload_pieces;
  UPDATE service_state SET alive_at_ms = NULL, database_identity = NULL, clock_shift_ms = 0, clock_version = 0`;

/** An empty database with the schema of the store. Disposing it gives it back, after its store was closed. */
interface TestDatabase extends AsyncDisposable {
  readonly options: PostgresOptions;
  /** Removes what was stored since. */
  empty(): Promise<void>;
}

/** A PostgreSQL server with databases that have the schema of the store. */
export class PostgresDatabases implements AsyncDisposable {
  readonly server: PostgresServer;
  readonly #unused: EmptiedDatabase[] = [];
  readonly #all = new AsyncDisposableStack();

  private constructor(server: PostgresServer) {
    this.server = server;
  }

  static async start(options: Parameters<typeof PostgresServer.start>[0] = {}): Promise<PostgresDatabases> {
    const server = await PostgresServer.start(options);
    try {
      await server.execute(`CREATE ROLE ${OWNER} LOGIN`);
      await server.execute(`CREATE DATABASE ${TEMPLATE} OWNER ${OWNER} TEMPLATE template0`);
      await migratePostgres(server.options(TEMPLATE, OWNER));
      return new PostgresDatabases(server);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  async take(): Promise<TestDatabase> {
    const database = this.#unused.pop() ?? (await this.#create());
    const empty = async (): Promise<void> => void (await database.pool.query(EMPTY));
    await empty();
    return {
      options: database.options,
      empty,
      [Symbol.asyncDispose]: async () => {
        this.#unused.push(database);
      },
    };
  }

  /** Returns a database to which nobody else is connected, so that it can be copied. It is not given back. */
  async create(): Promise<PostgresOptions> {
    return this.server.options(await this.server.createDatabase(TEMPLATE, OWNER), OWNER);
  }

  async #create(): Promise<EmptiedDatabase> {
    const options = await this.create();
    return { options, pool: this.#all.use(new PostgresPool({ ...options, poolMax: 1 })) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#all.disposeAsync();
    await this.server[Symbol.asyncDispose]();
  }
}

interface EmptiedDatabase {
  readonly options: PostgresOptions;
  /** Empties it. */
  readonly pool: PostgresPool;
}
