import pg from "pg";
import type { Queryable, QueryOutcome } from "../sql/postgres-executor.ts";
import { toStoreError } from "./errors.ts";
import type { PostgresOptions } from "./options.ts";
import { clientConfig, connectError } from "./pool.ts";

const CONNECT_TIMEOUT_MS = 5_000;

/** One connection for a command that may take as long as it takes. */
export class CommandClient implements Queryable, AsyncDisposable {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Connects. Throws a `StoreUnavailableError` if the server cannot be reached. */
  static async connect(options: PostgresOptions): Promise<CommandClient> {
    const client = new pg.Client({ ...clientConfig(options), connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
    // Errors of the connection are those of the query that is under way.
    client.on("error", () => {});
    try {
      await client.connect();
      return new CommandClient(client);
    } catch (error) {
      await client.end().catch(() => {});
      throw connectError(error);
    }
  }

  async query<Row>(text: string, values?: readonly unknown[]): Promise<QueryOutcome<Row>> {
    try {
      const { rows, rowCount } = await this.#client.query(text, values && [...values]);
      return { rows: rows as Row[], rowCount: rowCount ?? 0 };
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** Runs `work` in one transaction, which is on disk when this resolves. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.query("BEGIN");
    try {
      const result = await work();
      await this.query("COMMIT");
      return result;
    } catch (error) {
      await this.query("ROLLBACK").catch(() => {});
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end().catch(() => {});
  }
}
