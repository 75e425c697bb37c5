/**
 * Parts of a statement for which the databases have no common form. The locks are clauses at the end of a `SELECT`, kept
 * until the end of the transaction, and empty if only one transaction at a time can write.
 */
export interface Dialect {
  /** Lock: no other transaction changes, removes or locks the rows. Others may refer to them. */
  readonly lockRows: string;
  /** Lock: as `lockRows`, and waits for those that keep the rows. */
  readonly lockForRemoval: string;
  /** Lock: no other transaction removes the rows. */
  readonly keepRows: string;
  /** Statement that waits for the lock with this number, kept until the end of the transaction; empty as the others. */
  readonly takeLock: (number: number) => string;
  /** How many rows of many to insert with one statement. */
  readonly rowsPerInsert: number;
  /** Size of what is stored for the row of `accounts` that the statement reads. */
  readonly storedBytes: string;
  /** Returns a column of text for comparison by LIKE with a pattern whose ASCII letters are lower case. */
  readonly forLike: (column: string) => string;
  /** Returns a table with the column `value` that has a row for each entry of a parameter that is a list in JSON. */
  readonly jsonRows: (parameter: string, alias: string) => string;
  /** Returns the condition that a list in JSON, an entry of an object, has this text. */
  readonly jsonListHas: (object: string, field: string, text: string) => string;
  /** Aggregate: an object in JSON, as text, with a field for each row. `{}` or null if there is none. */
  readonly jsonObject: (key: string, value: string) => string;
  /** Aggregate: a list in JSON, as text. `[]` or null if there is no row. */
  readonly jsonList: (value: string) => string;
  /** Returns the texts of a parameter that is a list in JSON, for `IN`. */
  readonly jsonTexts: (parameter: string) => string;
  /**
   * Returns the condition that a column has one of the texts of a parameter that is a list in JSON, by which an index is read:
   * PostgreSQL may take `IN` for a join with all of its rows.
   */
  readonly isOneOf: (column: string, parameter: string) => string;
  /** Returns the start of the month in UTC for a column of Unix seconds. */
  readonly monthStart: (column: string) => string;
}

export const SQLITE: Dialect = {
  lockRows: "",
  lockForRemoval: "",
  keepRows: "",
  takeLock: () => "",
  // Several rows in one statement take twice the time of as many statements.
  rowsPerInsert: 1,
  storedBytes: "stored_bytes",
  // LIKE ignores the case of ASCII letters.
  forLike: (column) => column,
  jsonRows: (parameter, alias) => `json_each(${parameter}) AS ${alias}`,
  jsonListHas: (object, field, text) =>
    `EXISTS (SELECT 1 FROM json_each(${object}, '$.${field}') entry WHERE entry.value = ${text})`,
  jsonObject: (key, value) => `json_group_object(${key}, ${value})`,
  jsonList: (value) => `json_group_array(${value})`,
  jsonTexts: (parameter) => `(SELECT value FROM json_each(${parameter}))`,
  isOneOf: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  monthStart: (column) => `unixepoch(${column}, 'unixepoch', 'start of month')`,
};

export const POSTGRES: Dialect = {
  lockRows: "FOR NO KEY UPDATE",
  lockForRemoval: "FOR UPDATE",
  keepRows: "FOR KEY SHARE",
  takeLock: (number) => `SELECT pg_advisory_xact_lock(${number})`,
  // A round trip takes longer than the rows.
  rowsPerInsert: 200,
  // The sum of a BIGINT column is NUMERIC.
  storedBytes: `(SELECT CAST(coalesce(sum(b.stored_bytes), 0) AS BIGINT) FROM account_bytes b
    WHERE b.account_id = accounts.id)`,
  // With the collation of the columns, "C", `lower` changes ASCII letters alone.
  forLike: (column) => `lower(${column})`,
  jsonRows: (parameter, alias) => `jsonb_array_elements(CAST(${parameter} AS jsonb)) AS ${alias} (value)`,
  jsonListHas: (object, field, text) => `(${object} -> '${field}') @> to_jsonb(${text})`,
  jsonObject: (key, value) => `CAST(json_object_agg(${key}, ${value}) AS TEXT)`,
  jsonList: (value) => `CAST(json_agg(${value}) AS TEXT)`,
  jsonTexts: (parameter) => `(SELECT jsonb_array_elements_text(CAST(${parameter} AS jsonb)) COLLATE "C")`,
  isOneOf: (column, parameter) =>
    `${column} = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(${parameter} AS jsonb)) COLLATE "C"))`,
  monthStart: (column) =>
    `CAST(extract(epoch FROM date_trunc('month', to_timestamp(${column}) AT TIME ZONE 'UTC')) AS BIGINT)`,
};
