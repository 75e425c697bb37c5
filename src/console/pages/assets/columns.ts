/** A column of the list of assets. */
export interface AssetColumn {
  readonly id: ColumnId;
  readonly label: string;
  /** Smallest width in rem, and the share of what is left. */
  readonly minWidth: number;
  readonly share: number;
}

const TABLE = [
  { id: "name", label: "Name", minWidth: 12, share: 2 },
  { id: "serial", label: "Serial number", minWidth: 10, share: 1.2 },
  { id: "link", label: "Link", minWidth: 10, share: 1 },
  { id: "attention", label: "Attention", minWidth: 12, share: 1.6 },
  { id: "status", label: "SIM status", minWidth: 6.5, share: 0 },
  { id: "type", label: "Type", minWidth: 6, share: 0.8 },
  { id: "tags", label: "Tags", minWidth: 10, share: 1.2 },
  { id: "agent", label: "Agent", minWidth: 6.5, share: 0 },
  { id: "sims", label: "SIMs", minWidth: 6.5, share: 0 },
  { id: "created", label: "Registered", minWidth: 8, share: 0 },
] as const;

export type ColumnId = (typeof TABLE)[number]["id"];
/** In the order of display. */
export const COLUMNS: readonly AssetColumn[] = TABLE;
const COLUMN_IDS: readonly ColumnId[] = COLUMNS.map(({ id }) => id);

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

/** `grid-template-columns` and the width that they need at least. */
export function gridOf(ids: readonly ColumnId[]): { readonly gridTemplateColumns: string; readonly minWidth: string } {
  const shown = COLUMNS.filter(({ id }) => ids.includes(id));
  const tracks = shown.map(({ minWidth, share }) =>
    share === 0 ? `${minWidth}rem` : `minmax(${minWidth}rem, ${share}fr)`,
  );
  // With the gaps between the columns and the padding of the row.
  const width = shown.reduce((sum, { minWidth }) => sum + minWidth, 0) + shown.length * GAP_REM + GAP_REM;
  return { gridTemplateColumns: tracks.join(" "), minWidth: `${width}rem` };
}

const GAP_REM = 0.75;
