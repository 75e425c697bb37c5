type Cell = string | number | null | undefined;

/** The table as RFC 4180 has it, under a row with the names of the columns. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map(toCsvLine).join("");
}

/** One row of a table, with its line break. */
export function toCsvLine(row: readonly Cell[]): string {
  return `${row.map(toCell).join(",")}\r\n`;
}

/** The time as spreadsheets read it. @param seconds Unix seconds */
export function csvTime(seconds: number | null): string {
  return seconds === null ? "" : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

function toCell(value: Cell): string {
  if (typeof value === "number") return String(value);
  if (value === null || value === undefined) return "";
  // A spreadsheet takes a text that begins like this for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
