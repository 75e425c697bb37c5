import type { Theme } from "./theme.ts";
import { padEnd, padStart, truncate, displayWidth } from "./width.ts";

export interface Column<Row> {
  readonly header: string;
  /** Plain text, already safe to print. */
  readonly cell: (row: Row) => string;
  readonly align?: "right";
  /** May be truncated when the table is wider than the terminal. */
  readonly canShrink?: true;
  readonly paint?: (text: string, row: Row) => string;
}

const GAP = 2;
const MIN_COLUMN_WIDTH = 8;

/** Renders a table. @param width of the terminal; `undefined` for no limit */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  theme: Theme,
  width: number | undefined,
): string {
  const texts = rows.map((row) => columns.map((column) => column.cell(row)));
  const natural = columns.map((column, index) =>
    Math.max(displayWidth(column.header), ...texts.map((cells) => displayWidth(cells[index] ?? ""))),
  );
  const widths = width === undefined ? natural : shrink(columns, natural, width);
  const line = (cells: readonly string[], paint: (text: string, index: number) => string): string =>
    cells
      .map((cell, index) => {
        const cut = truncate(cell, widths[index] ?? 0);
        const isLast = index === cells.length - 1;
        const pad = columns[index]?.align === "right" ? padStart : isLast ? (text: string) => text : padEnd;
        // Painted after padding, since escape sequences have no width.
        return paint(pad(cut, widths[index] ?? 0), index);
      })
      .join(" ".repeat(GAP))
      .trimEnd();
  const header = line(
    columns.map((column) => column.header),
    (text) => theme.bold(text),
  );
  const body = rows.map((row, index) =>
    line(texts[index] ?? [], (text, column) => columns[column]?.paint?.(text, row) ?? text),
  );
  return [header, ...body].join("\n");
}

function shrink<Row>(columns: readonly Column<Row>[], natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, value) => sum + value, GAP * (widths.length - 1)) - width;
  while (excess > 0) {
    // Shrink the widest column by one at a time, so that all shrink evenly.
    let widest = -1;
    for (const [index, column] of columns.entries()) {
      const value = widths[index] ?? 0;
      if (column.canShrink && value > MIN_COLUMN_WIDTH && (widest === -1 || value > (widths[widest] ?? 0)))
        widest = index;
    }
    if (widest === -1) return widths;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
  return widths;
}

/** Renders names and values in two columns. Values may have several lines. */
export function renderFields(fields: readonly (readonly [name: string, value: string])[], theme: Theme): string {
  const width = Math.max(...fields.map(([name]) => displayWidth(name)));
  return fields
    .map(([name, value]) => {
      const [first, ...rest] = value.split("\n");
      const indent = " ".repeat(width + GAP);
      return [`${theme.dim(padEnd(name, width))}${" ".repeat(GAP)}${first}`, ...rest.map((line) => indent + line)].join(
        "\n",
      );
    })
    .join("\n");
}
