/** Names of statements. Connections prepare a statement under its name at the first use. */
const names = new Map<string, string>();

/** Statements beyond this number are not prepared. There are fewer: this bounds memory if a text were not constant. */
const MAX_NAMES = 500;

/** Returns the name of the prepared statement with this text; `undefined`: it is not prepared. */
export function statementName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_NAMES) return known;
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}
