/** A parameter of a statement. `Uint8Array` is a binary value. */
export type Value = string | number | Uint8Array | null;

/** Parameters in the order of the `?` of a statement, or of `?1`, `?2` where one is used more than once. */
export type Parameters = readonly Value[];

/** One statement, and what its caller wants of the result. */
export interface Statement {
  /** Constant, or one of a few texts: it is prepared once and kept. */
  readonly sql: string;
  readonly parameters: Parameters;
  readonly wanted: "first row" | "all rows" | "change count";
  /** The account whose events it writes. */
  readonly appendsTo?: string;
}

/**
 * What a transaction of the store does: yields statements, and returns its result. Written once, and run by an executor for
 * each database. A statement that fails ends it: the error is not thrown into the generator.
 */
export type Work<T> = Generator<Statement, T, unknown>;

/** Returns the first row, if there is one. */
export function* one<Row>(sql: string, parameters: Parameters = []): Work<Row | undefined> {
  return (yield { sql, parameters, wanted: "first row" }) as Row | undefined;
}

/** Returns every row. */
export function* all<Row>(sql: string, parameters: Parameters = []): Work<readonly Row[]> {
  return (yield { sql, parameters, wanted: "all rows" }) as readonly Row[];
}

/** Returns the number of rows that were inserted, updated or deleted. */
export function* change(sql: string, parameters: Parameters = []): Work<number> {
  return (yield { sql, parameters, wanted: "change count" }) as number;
}
