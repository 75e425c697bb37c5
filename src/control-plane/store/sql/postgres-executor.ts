import { type Dialect, POSTGRES } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { numberedParameters } from "./numbered-parameters.ts";
import type { Statement, Work } from "./statement.ts";

/**
 * Runs statements with parameters `$1`, `$2`, each text prepared once for a connection. BIGINT values are numbers; one that
 * is not an exact number is refused.
 */
export interface Queryable {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly rowCount: number }>;
}

export interface TransactionalQueryable extends Queryable {
  /** Runs `work` on one connection in one transaction, and repeats it after a conflict with another one. */
  transaction<T>(work: (connection: Queryable) => Promise<T>): Promise<T>;
}

/** Runs work statement by statement. Other calls come between the statements, of this instance and of others. */
export class PostgresExecutor implements Executor {
  readonly dialect: Dialect = POSTGRES;
  readonly #database: TransactionalQueryable;

  constructor(database: TransactionalQueryable) {
    this.#database = database;
  }

  async run<T>(work: Work<T>): Promise<T> {
    return finish(this.#database, work);
  }

  async transact<T>(start: () => Work<T>): Promise<T> {
    return this.#database.transaction(async (connection) => finish(connection, start()));
  }
}

async function finish<T>(connection: Queryable, work: Work<T>): Promise<T> {
  let step = work.next();
  while (step.done !== true) step = work.next(await execute(connection, step.value));
  return step.value;
}

async function execute(connection: Queryable, { sql, parameters, wanted }: Statement): Promise<unknown> {
  const { rows, rowCount } = await connection.query(translate(sql), parameters);
  if (wanted === "first row") return rows[0];
  return wanted === "rows" ? rows : rowCount;
}

const translations = new Map<string, string>();

function translate(sql: string): string {
  const known = translations.get(sql);
  if (known !== undefined) return known;
  const text = numberedParameters(sql);
  translations.set(sql, text);
  return text;
}
