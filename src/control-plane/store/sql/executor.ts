import type { Dialect } from "./dialect.ts";
import type { Parameters, Work } from "./statement.ts";

/** A result that is there already, or will be: a promise for a result that is there takes time in the hottest calls. */
export type Awaitable<T> = T | Promise<T>;

/** Runs the statements of the store's calls on one database. */
export interface Executor {
  readonly dialect: Dialect;
  /** Runs one statement, as `one` in a transaction does. */
  one<Row>(sql: string, parameters?: Parameters): Awaitable<Row | undefined>;
  all<Row>(sql: string, parameters?: Parameters): Awaitable<readonly Row[]>;
  /** As `all`, with each row as the values of its columns: an object for each row takes as long as reading it. */
  allValues(sql: string, parameters?: Parameters): Awaitable<readonly (readonly unknown[])[]>;
  change(sql: string, parameters?: Parameters): Awaitable<number>;
  /**
   * Runs work in one transaction: committed to disk when this resolves, rolled back when the work throws. May start the work
   * again if another transaction was in the way, so it must have no other effects.
   */
  transact<T>(start: () => Work<T>): Promise<T>;
  /** Lends one connection until the promise of `work` settles. */
  withConnection<T>(work: (connection: ConnectionExecutor) => Promise<T>): Promise<T>;
}

/** Runs statements on one connection, where temporary tables are visible. */
export interface ConnectionExecutor extends Pick<Executor, "dialect" | "change" | "transact"> {
  /** Returns a name that no other temporary table of the connection has, from one that is constant. */
  temporaryTable(name: string): string;
}
