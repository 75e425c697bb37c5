/** Parts of a statement for which the databases have no common form. */
export interface Dialect {
  /**
   * Clause at the end of a `SELECT` that keeps its rows from being changed or removed by others until the end of the
   * transaction. Empty if only one transaction at a time can write.
   */
  readonly lockRows: string;
}

export const SQLITE: Dialect = { lockRows: "" };

export const POSTGRES: Dialect = { lockRows: "FOR NO KEY UPDATE" };
