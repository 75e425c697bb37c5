import type { Row } from "./result.ts";

const HEADERS = ["", "measured", "compared with", "ratio", "target", ""];

/** Formats the rows as a Markdown table. */
export function table(rows: readonly Row[]): string {
  const cells = [HEADERS, ...rows.map(toCells)];
  const widths = HEADERS.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  return [line(HEADERS), rule, ...cells.slice(1).map(line)].join("\n");
}

function toCells({ what, value, reference, ratio, target }: Row): string[] {
  const verdict = target ? (target.met ? "met" : "MISSED") : "";
  return [what, value, reference ?? "", ratio === undefined ? "" : `${ratio.toFixed(2)}x`, target?.text ?? "", verdict];
}
