import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { LayerCost, UpdateCost } from "../images/explain-update.ts";
import type { FileCost } from "../images/file-costs.ts";
import { shortDigest } from "./short-digest.ts";

const SHOWN_FILES = 15;

export interface UpdateCostOptions {
  readonly theme: Theme;
  readonly width: number | undefined;
  /** Show every file that is fetched. */
  readonly isAll: boolean;
}

/** Renders what an update costs: in all, by layer, by file, and why. */
export function renderUpdateCost(cost: UpdateCost, { theme, width, isAll }: UpdateCostOptions): string {
  const files = cost.layers.flatMap((layer) => layer.fetched).toSorted((one, other) => costOf(other) - costOf(one));
  const shown = isAll ? files : files.slice(0, SHOWN_FILES);
  const lines = [theme.bold(titleOf(cost)), "", renderTable(LAYERS, cost.layers, theme, width)];
  if (shown.length > 0) lines.push("", renderTable(FILES, shown, theme, width));
  if (files.length > shown.length)
    lines.push(theme.dim(`and ${files.length - shown.length} more files; --all shows them`));
  if (cost.advice.length > 0) lines.push("", ...cost.advice.map((text) => `• ${sanitizeLine(text)}`));
  if (!cost.is_indexed) {
    lines.push(
      "",
      theme.cyan("The new image has no index yet, so devices fetch whole layers. Write it: edgectl images index NEW"),
    );
  }
  return lines.join("\n");
}

function titleOf({ platform, parts_bytes: parts, whole_bytes: whole }: UpdateCost): string {
  if (whole === 0) return `${sanitizeLine(platform)}: the device has every layer; nothing is fetched`;
  const factor = parts > 0 && whole / parts >= 1.1 ? `, ${(whole / parts).toFixed(1)} times less` : "";
  return `${sanitizeLine(platform)}: ${formatBytes(parts)} by parts, ${formatBytes(whole)} with whole layers${factor}`;
}

const LAYERS: readonly Column<LayerCost>[] = [
  { header: "LAYER", cell: ({ digest }) => shortDigest(digest) },
  { header: "WHOLE", cell: ({ whole_bytes: size }) => formatBytes(size), align: "right" },
  { header: "FETCHED", cell: ({ parts_bytes: size }) => formatBytes(size), align: "right" },
  { header: "TABLES", cell: ({ table_bytes: size }) => formatBytes(size), align: "right" },
  { header: "BY", cell: ({ by }) => by },
  {
    header: "FILES NEW",
    cell: ({ by, files, files_here: here }) => (by === "here" ? "-" : `${files - here} of ${files}`),
  },
  { header: "INSTRUCTION", cell: ({ instruction }) => sanitizeLine(instruction ?? "-"), canShrink: true },
];

const FILES: readonly Column<FileCost>[] = [
  { header: "FETCHED", cell: (file) => formatBytes(costOf(file)), align: "right" },
  { header: "SIZE", cell: ({ size_bytes: size }) => formatBytes(size), align: "right" },
  { header: "FILE", cell: ({ path }) => sanitizeLine(path), canShrink: true },
];

function costOf({ parts_bytes: parts, size_bytes: size }: FileCost): number {
  return parts ?? size;
}
