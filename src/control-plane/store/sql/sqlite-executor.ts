import type { DatabaseSync, StatementSync } from "node:sqlite";
import { transaction } from "../../../lib/sqlite.ts";
import { type Dialect, SQLITE } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import type { Statement, Work } from "./statement.ts";

/** Runs work to its end at once: no other call of this process comes between its statements. */
export class SqliteExecutor implements Executor {
  readonly dialect: Dialect = SQLITE;
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async run<T>(work: Work<T>): Promise<T> {
    return this.#finish(work);
  }

  async transact<T>(start: () => Work<T>): Promise<T> {
    return transaction(this.#database, () => this.#finish(start()));
  }

  #finish<T>(work: Work<T>): T {
    let step = work.next();
    while (step.done !== true) step = work.next(this.#execute(step.value));
    return step.value;
  }

  #execute({ sql, parameters, wanted }: Statement): unknown {
    const statement = this.#prepare(sql);
    if (wanted === "first row") return statement.get(...parameters);
    if (wanted === "rows") return statement.all(...parameters);
    return Number(statement.run(...parameters).changes);
  }

  #prepare(sql: string): StatementSync {
    const prepared = this.#prepared.get(sql);
    if (prepared) return prepared;
    const statement = this.#database.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}
