import pg from "pg";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { ConnectionOptions } from "node:tls";
import type { ConnectionPool, Queryable, QueryOutcome, TransactionalQueryable } from "../sql/postgres-executor.ts";
import { StoreUnavailableError } from "../unavailable.ts";
import { isConflict, toStoreError } from "./errors.ts";
import { DEFAULT_POOL_MAX, type PostgresOptions, type PostgresTls } from "./options.ts";

const { INT8 } = pg.types.builtins;

/** Reads 64-bit integers as numbers, like the rest of the program. Other types: as the library reads them. */
const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: ((type: Parameters<typeof pg.types.getTypeParser>[0], format?: "text") =>
    type === INT8 ? toNumber : (pg.types.getTypeParser(type, format) as unknown)) as typeof pg.types.getTypeParser,
};

function toNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`the database returned ${text}, which is no safe integer`);
  return number;
}

/** Names of statements. Connections prepare a statement under its name at the first use. */
const names = new Map<string, string>();

/** Statements beyond this number are not prepared. There are fewer: this bounds memory if a text were not constant. */
const MAX_NAMES = 500;

/** Returns the name of the prepared statement with this text; `undefined`: it is not prepared. */
function statementName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_NAMES) return known;
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}

/** How long a call waits for a connection, new or from the pool, in milliseconds. */
const CONNECT_TIMEOUT_MS = 2_000;

/** How long a statement may take on the server. */
const STATEMENT_TIMEOUT_MS = 4_000;

/** How long a call waits for the result of a statement: a server that is paused does not end it by itself. */
const QUERY_TIMEOUT_MS = 5_000;

/** After this time the server rolls back a transaction whose client went away without a word. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000;

const IDLE_CONNECTION_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_DELAY_MS = 10_000;

/** How often a transaction is tried when others are in the way. */
const MAX_ATTEMPTS = 10;
const MAX_CONFLICT_DELAY_MS = 20;

/**
 * Settings of each connection, whatever the defaults of the server, the database and the user are. A commit is on disk
 * when it is answered; stricter settings, such as those of synchronous replication, stay. No statement is compiled: with the
 * estimates for selectors PostgreSQL compiles them each time, which takes 100 ms for a page of 5 ms.
 */
const SET_UP_CONNECTION = /* sql */ `
  SELECT current_setting('transaction_read_only') AS read_only,
    set_config('synchronous_commit',
      CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('jit', 'off', false),
    set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', false),
    set_config('idle_in_transaction_session_timeout', '${IDLE_TRANSACTION_TIMEOUT_MS}', false)`;

/**
 * Connections to one database. A failure of the server or the way to it is a `StoreUnavailableError`; the next call opens
 * a new connection.
 */
export class PostgresPool implements ConnectionPool, AsyncDisposable {
  readonly #pool: pg.Pool;
  #isClosed = false;

  /** Opens no connection yet. Throws when a file of the options cannot be read. */
  constructor(options: PostgresOptions) {
    this.#pool = new pg.Pool({
      ...clientConfig(options),
      Client: clientClass(options.tls),
      max: options.poolMax ?? DEFAULT_POOL_MAX,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_CONNECTION_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      // Statements of a transaction may be sent before the results of earlier ones are there.
      pipeline: true,
      // The pool waits for its end, which its types do not say.
      onConnect: (client): unknown => setUpConnection(client),
    });
    // An idle connection was lost. The pool has removed it.
    this.#pool.on("error", () => {});
  }

  /** Runs one statement, which is a transaction by itself. */
  async query<Row>(text: string, values?: readonly unknown[]): Promise<QueryOutcome<Row>> {
    return this.#lend((client) => client.query<Row>(text, values));
  }

  /**
   * Runs `work` in one transaction: committed to disk when this resolves, rolled back when `work` rejects. Repeats it if
   * other transactions are in the way, so `work` must have no other effects.
   */
  async transaction<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    // A connection for each attempt, so that others come first meanwhile.
    return repeatOnConflict(() => this.#lend((client) => client.transactOnce(work)));
  }

  /** Lends one connection until the promise of `work` settles. */
  async withConnection<T>(work: (connection: TransactionalQueryable) => Promise<T>): Promise<T> {
    return this.#lend(work);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#pool.end();
  }

  async #lend<T>(work: (client: PooledClient) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw connectError(error);
    }
    const pooled = new PooledClient(client);
    try {
      return await work(pooled);
    } finally {
      client.release(!pooled.isReusable);
    }
  }
}

/** Repeats `work` while other transactions are in the way of it. */
export async function repeatOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (attempt === MAX_ATTEMPTS) throw new StoreUnavailableError("too many conflicts", { cause: error });
      await pause(Math.random() * MAX_CONFLICT_DELAY_MS * attempt);
    }
  }
}

class PooledClient implements TransactionalQueryable {
  readonly #client: pg.PoolClient;
  /** Whether nothing is left over on the connection. */
  #isReusable = true;

  constructor(client: pg.PoolClient) {
    this.#client = client;
    // The statement that was under way fails with the same error.
    client.on("error", this.#onError);
  }

  get isReusable(): boolean {
    this.#client.off("error", this.#onError);
    return this.#isReusable;
  }

  async query<Row>(text: string, values?: readonly unknown[]): Promise<QueryOutcome<Row>> {
    const { rows, rowCount } = await this.#run(text, values);
    return { rows: rows as Row[], rowCount: rowCount ?? 0 };
  }

  async #run(text: string, values?: readonly unknown[]): Promise<pg.QueryResult> {
    try {
      // Without values it may be several statements, which cannot be prepared.
      return await this.#client.query(
        values ? { text, name: statementName(text), values: values.map(withoutNul) } : text,
      );
    } catch (error) {
      // An error that the server sent leaves the connection as it was. After any other one, such as a timeout, the result
      // may still arrive.
      if (!(error instanceof pg.DatabaseError)) this.#isReusable = false;
      throw toStoreError(error);
    }
  }

  async transaction<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    return repeatOnConflict(() => this.transactOnce(work));
  }

  async transactOnce<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    // Not waited for: it goes ahead of the first statement of the work, which does not arrive without it.
    const begin = this.query("BEGIN");
    begin.catch(() => {});
    try {
      const result = await work(this);
      await begin;
      await this.#commit();
      return result;
    } catch (error) {
      await this.#rollback();
      throw error;
    }
  }

  async #commit(): Promise<void> {
    const { command } = await this.#run("COMMIT");
    // The server does not call it an error that there is nothing to commit since a statement failed.
    if (command !== "COMMIT") throw new Error("the transaction was not committed: a statement of it had failed");
  }

  async #rollback(): Promise<void> {
    if (!this.#isReusable) return;
    await this.query("ROLLBACK").catch(() => {
      this.#isReusable = false;
    });
  }

  readonly #onError = (): void => {
    this.#isReusable = false;
  };
}

/**
 * Replaces NUL, which PostgreSQL refuses, in texts, as the encoding does with unpaired surrogates. So a search for such a
 * text finds nothing. There is none to be stored: the API refuses it, and JSON escapes it.
 */
function withoutNul(value: unknown): unknown {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
  return Array.isArray(value) ? value.map(withoutNul) : value;
}

/** Settings of a single connection, as for `pg.Client`. */
export function clientConfig(options: PostgresOptions): pg.ClientConfig {
  const { host, port, database, user, passwordFile } = options;
  return {
    host,
    port,
    database,
    user,
    password: passwordFile === undefined ? "" : async () => readPassword(passwordFile),
    ssl: options.tls === undefined ? false : readTls(options.tls),
    application_name: "edge-control",
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: valueTypes,
  };
}

async function readPassword(file: string): Promise<string> {
  return (await readFile(file, "utf8")).trimEnd();
}

/** A client that reads the files for TLS again, so that they can be replaced while the pool is in use. */
function clientClass(tls: PostgresTls | undefined): typeof pg.Client {
  if (!tls) return pg.Client;
  const files = tls;
  let current = readTls(files);
  return class TlsClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      try {
        current = readTls(files);
      } catch {
        // Being replaced at this moment: the earlier ones are used once more.
      }
      // The pool hides the password from copies of its options.
      super({ ...config, password: config?.password, ssl: current });
    }
  };
}

function readTls({ caFile, certFile, keyFile }: PostgresTls): ConnectionOptions {
  const [ca, cert, key] = [caFile, certFile, keyFile].map((file) => file && readFileSync(file, "utf8"));
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

async function setUpConnection(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ read_only: string }>(SET_UP_CONNECTION);
  if (rows[0]?.read_only !== "off") throw new StoreUnavailableError("the server is read-only");
}

/** Any failure to connect may be temporary: passwords and certificates are replaced while the service runs. */
export function connectError(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  const reason = error instanceof AggregateError ? error.errors.join(", ") : (error as Error).message;
  return new StoreUnavailableError(reason, { cause: error });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
