import { type Dialect, POSTGRES } from "./dialect.ts";
import type { ConnectionExecutor, Executor } from "./executor.ts";
import type { Parameters, Statement, Work } from "./statement.ts";

const LITERAL_OR_PARAMETER = /'[^']*'|\?(\d*)/g;

/** Translates the parameters `?`, or `?1`, `?2`, of a statement into `$1`, `$2`. Literals stay. */
export function numberedParameters(sql: string): string {
  let count = 0;
  return sql.replaceAll(LITERAL_OR_PARAMETER, (found, number: string | undefined) =>
    number === undefined ? found : `$${number || ++count}`,
  );
}

/**
 * Runs statements with parameters `$1`, `$2`. Each text must be constant: it is prepared once for a connection. BIGINT values are numbers; one that
 * is not an exact number is refused.
 */
export interface Queryable {
  query<Row>(text: string, values?: readonly unknown[]): Promise<QueryOutcome<Row>>;
}

export interface QueryOutcome<Row> {
  readonly rows: readonly Row[];
  /** Number of rows that were read or changed. */
  readonly rowCount: number;
}

export interface TransactionalQueryable extends Queryable {
  /** Runs `work` on one connection in one transaction, and repeats it after a conflict with another one. */
  transaction<T>(work: (connection: Queryable) => Promise<T>): Promise<T>;
}

export interface ConnectionPool extends TransactionalQueryable {
  /** Lends one connection until the promise of `work` settles. */
  withConnection<T>(work: (connection: TransactionalQueryable) => Promise<T>): Promise<T>;
}

type OnAppended = (accountIds: ReadonlySet<string>) => void;

/** Runs work statement by statement. Other calls come between the statements, of this instance and of others. */
class PostgresConnectionExecutor implements ConnectionExecutor {
  readonly dialect: Dialect = POSTGRES;
  readonly #database: TransactionalQueryable;
  readonly #onAppended: OnAppended;

  constructor(database: TransactionalQueryable, onAppended: OnAppended) {
    this.#database = database;
    this.#onAppended = onAppended;
  }

  async one<Row>(sql: string, parameters: Parameters = []): Promise<Row | undefined> {
    return (await this.#database.query<Row>(translate(sql), parameters)).rows[0];
  }

  async all<Row>(sql: string, parameters: Parameters = []): Promise<readonly Row[]> {
    return (await this.#database.query<Row>(translate(sql), parameters)).rows;
  }

  async allValues(sql: string, parameters: Parameters = []): Promise<readonly (readonly unknown[])[]> {
    // In the order of the columns.
    return (await this.all<object>(sql, parameters)).map((row) => Object.values(row) as unknown[]);
  }

  async change(sql: string, parameters: Parameters = []): Promise<number> {
    return (await this.#database.query(translate(sql), parameters)).rowCount;
  }

  async transact<T>(start: () => Work<T>): Promise<T> {
    const { result, appended } = await this.#database.transaction(async (connection) => finish(connection, start()));
    if (appended.size > 0) this.#onAppended(appended);
    return result;
  }

  temporaryTable(name: string): string {
    return name;
  }
}

export class PostgresExecutor extends PostgresConnectionExecutor implements Executor {
  readonly #pool: ConnectionPool;
  readonly #onAppendedHere: OnAppended;

  /** @param onAppended called after the commit of a transaction that has written events of these accounts */
  constructor(pool: ConnectionPool, onAppended: OnAppended = () => {}) {
    super(pool, onAppended);
    this.#pool = pool;
    this.#onAppendedHere = onAppended;
  }

  async withConnection<T>(work: (connection: ConnectionExecutor) => Promise<T>): Promise<T> {
    return this.#pool.withConnection(async (connection) =>
      work(new PostgresConnectionExecutor(connection, this.#onAppendedHere)),
    );
  }
}

async function finish<T>(connection: Queryable, work: Work<T>): Promise<{ result: T; appended: Set<string> }> {
  const appended = new Set<string>();
  let step = work.next();
  while (step.done !== true) {
    if (step.value.appendsTo !== undefined) appended.add(step.value.appendsTo);
    step = work.next(await execute(connection, step.value));
  }
  return { result: step.value, appended };
}

async function execute(connection: Queryable, { sql, parameters, wanted }: Statement): Promise<unknown> {
  const { rows, rowCount } = await connection.query(translate(sql), parameters);
  if (wanted === "all rows") return rows;
  return wanted === "first row" ? rows[0] : rowCount;
}

const translations = new Map<string, string>();

function translate(sql: string): string {
  const known = translations.get(sql);
  if (known !== undefined) return known;
  const text = numberedParameters(sql);
  translations.set(sql, text);
  return text;
}
