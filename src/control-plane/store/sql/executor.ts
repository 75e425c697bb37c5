import type { Dialect } from "./dialect.ts";
import type { Work } from "./statement.ts";

/** Runs the work of the store's calls on one database. */
export interface Executor {
  readonly dialect: Dialect;
  /** Runs work without a transaction around it: for a single statement. */
  run<T>(work: Work<T>): Promise<T>;
  /**
   * Runs work in one transaction: committed to disk when this resolves, rolled back when the work throws. May start the work
   * again if another transaction was in the way, so it must have no other effects.
   */
  transact<T>(start: () => Work<T>): Promise<T>;
}
