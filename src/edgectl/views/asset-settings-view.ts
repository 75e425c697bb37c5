import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { Tags, Variables } from "../api/asset-settings.ts";

export function renderTags(tags: Tags, theme: Theme): string {
  const fields = Object.entries(tags).map(([key, value]): [string, string] => [sanitizeLine(key), sanitizeLine(value)]);
  return fields.length === 0 ? "No tags." : renderFields(fields, theme);
}

/** @param isRevealed whether the values that are not secret were asked for */
export function renderVariables(
  variables: Variables,
  isRevealed: boolean,
  theme: Theme,
  width: number | undefined,
): string {
  const rows = Object.entries(variables);
  if (rows.length === 0) return "No variables.";
  const columns: Column<(typeof rows)[number]>[] = [
    { header: "NAME", cell: ([name]) => sanitizeLine(name) },
    { header: "SECRET", cell: ([, { secret }]) => (secret ? "yes" : "no") },
    ...(isRevealed
      ? [
          {
            header: "VALUE",
            cell: ([, { value }]: (typeof rows)[number]) => sanitizeLine(value ?? "***"),
            canShrink: true as const,
          },
        ]
      : []),
  ];
  return renderTable(columns, rows, theme, width);
}
