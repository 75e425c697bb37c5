/** A column of the list of assets. */
export interface Column {
  readonly id: ColumnId;
  readonly label: string;
  /** Track of the grid. */
  readonly width: string;
}

export const COLUMN_IDS = ["name", "serial", "link", "attention", "status", "type", "agent", "sims", "created"] as const;
export type ColumnId = (typeof COLUMN_IDS)[number];

export const COLUMNS: readonly Column[] = [
  { id: "name", label: "Name", width: "minmax(10rem, 2fr)" },
  { id: "serial", label: "Serial number", width: "minmax(9rem, 1.2fr)" },
  { id: "link", label: "Link", width: "minmax(9rem, 1fr)" },
  { id: "attention", label: "Attention", width: "minmax(11rem, 1.6fr)" },
  { id: "status", label: "SIM status", width: "6.5rem" },
  { id: "type", label: "Type", width: "minmax(6rem, 0.8fr)" },
  { id: "agent", label: "Agent", width: "6.5rem" },
  { id: "sims", label: "SIMs", width: "6.5rem" },
  { id: "created", label: "Registered", width: "8rem" },
];

export const DEFAULT_COLUMNS: readonly ColumnId[] = ["name", "serial", "link", "attention", "status", "type", "agent"];

/** Reads what the browser has kept. The name is always shown: it leads to the asset. */
export function readColumns(kept: string | null): readonly ColumnId[] {
  const names = new Set((kept ?? "").split(","));
  if (kept === null) return DEFAULT_COLUMNS;
  return COLUMN_IDS.filter((id) => id === "name" || names.has(id));
}

export function writeColumns(ids: readonly ColumnId[]): string {
  return COLUMN_IDS.filter((id) => ids.includes(id)).join(",");
}

/** Adds or removes a column; the order of columns does not change. */
export function toggleColumn(ids: readonly ColumnId[], id: ColumnId): readonly ColumnId[] {
  const next = ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id];
  return COLUMN_IDS.filter((each) => each === "name" || next.includes(each));
}

/** `grid-template-columns` of these columns. */
export function gridOf(ids: readonly ColumnId[]): string {
  return COLUMNS.filter(({ id }) => ids.includes(id))
    .map(({ width }) => width)
    .join(" ");
}
