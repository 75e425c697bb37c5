import type { Volume, VolumeList } from "../api/volumes.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatMinute } from "../../lib/terminal/time.ts";

/** @param hasSizes whether the device was asked to measure them */
export function renderVolumes(list: VolumeList, hasSizes: boolean, theme: Theme, width: number | undefined): string {
  if (list.volumes.length === 0) return "No volumes.";
  const sizes: Column<Volume> = { header: "SIZE", cell: sizeOf, align: "right" };
  const columns: Column<Volume>[] = [
    { header: "VOLUME", cell: ({ name }) => sanitizeLine(name), canShrink: true },
    { header: "APPS", cell: appsOf, canShrink: true },
    ...(hasSizes ? [sizes] : []),
    { header: "CREATED (UTC)", cell: ({ created_at }) => (created_at ? formatMinute(created_at) : "-") },
  ];
  const table = renderTable(columns, list.volumes, theme, width);
  return list.left_out > 0 ? `${table}\nand ${list.left_out} more` : table;
}

function sizeOf({ size_bytes: size }: Volume): string {
  return typeof size === "number" ? formatBytes(size) : "-";
}

function appsOf({ apps, apps_left_out: more }: Volume): string {
  const names = apps.map(({ app, readonly }) => `${sanitizeLine(app)}${readonly ? " (read-only)" : ""}`);
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(", ") || "-";
}
