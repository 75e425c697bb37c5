const LITERAL_OR_PARAMETER = /'[^']*'|\?(\d*)/g;

/** Translates the parameters `?`, or `?1`, `?2`, of a statement into `$1`, `$2`. Literals stay. */
export function numberedParameters(sql: string): string {
  let count = 0;
  return sql.replaceAll(LITERAL_OR_PARAMETER, (found, number: string | undefined) =>
    number === undefined ? found : `$${number || ++count}`,
  );
}
