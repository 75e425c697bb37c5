import type { DatabaseSync, StatementSync } from "node:sqlite";
import { prepare, transaction } from "../../../lib/sqlite.ts";
import { type Dialect, SQLITE } from "./dialect.ts";
import type { Awaitable, ConnectionExecutor, Executor } from "./executor.ts";
import type { Parameters, Statement, Work } from "./statement.ts";

/** Runs work to its end at once: no other call of this process comes between its statements. */
export class SqliteExecutor implements Executor, ConnectionExecutor {
  readonly dialect: Dialect = SQLITE;
  readonly #database: DatabaseSync;
  readonly #onAppended: (accountId: string) => void;
  readonly #suffix: string;
  readonly #prepared = new Map<string, StatementSync>();
  /** Statements whose rows are arrays. */
  readonly #withArrays = new Map<string, StatementSync>();
  #borrowers = 0;

  /** @param onAppended called in a transaction that writes events of the account */
  constructor(database: DatabaseSync, onAppended: (accountId: string) => void = () => {}, suffix = "") {
    this.#database = database;
    this.#onAppended = onAppended;
    this.#suffix = suffix;
  }

  one<Row>(sql: string, parameters: Parameters = []): Awaitable<Row | undefined> {
    return this.#prepare(sql).get(...parameters) as Row | undefined;
  }

  all<Row>(sql: string, parameters: Parameters = []): Awaitable<readonly Row[]> {
    return this.#prepare(sql).all(...parameters) as unknown as readonly Row[];
  }

  allValues(sql: string, parameters: Parameters = []): Awaitable<readonly (readonly unknown[])[]> {
    let statement = this.#withArrays.get(sql);
    if (!statement) {
      statement = prepare(this.#database, sql);
      statement.setReturnArrays(true);
      this.#withArrays.set(sql, statement);
    }
    return statement.all(...parameters) as unknown as readonly (readonly unknown[])[];
  }

  change(sql: string, parameters: Parameters = []): Awaitable<number> {
    return Number(this.#prepare(sql).run(...parameters).changes);
  }

  async transact<T>(start: () => Work<T>): Promise<T> {
    return transaction(this.#database, () => this.#finish(start()));
  }

  /** There is one connection. A borrower has temporary tables of its own, and statements that go with them. */
  async withConnection<T>(work: (connection: ConnectionExecutor) => Promise<T>): Promise<T> {
    return work(new SqliteExecutor(this.#database, this.#onAppended, `_${++this.#borrowers}`));
  }

  temporaryTable(name: string): string {
    return name + this.#suffix;
  }

  #finish<T>(work: Work<T>): T {
    let step = work.next();
    while (step.done !== true) step = work.next(this.#execute(step.value));
    return step.value;
  }

  #execute({ sql, parameters, wanted, appendsTo }: Statement): unknown {
    if (appendsTo !== undefined) this.#onAppended(appendsTo);
    const statement = this.#prepare(sql);
    if (wanted === "first row") return statement.get(...parameters);
    if (wanted === "all rows") return statement.all(...parameters);
    return Number(statement.run(...parameters).changes);
  }

  #prepare(sql: string): StatementSync {
    const prepared = this.#prepared.get(sql);
    if (prepared) return prepared;
    const statement = prepare(this.#database, sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}
