import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatBytes, formatBytesOrDash } from "../../lib/terminal/bytes.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { ImageIndex, IndexedLayerFacts } from "../images/index-image.ts";
import type { FileCost, LayerCost, UpdateCost } from "../images/explain-update.ts";

const DIGITS = 12;

/** The first digits of a digest, as Docker shows them. */
export function shortDigest(digest: string): string {
  return sanitizeLine(digest.replace("sha256:", "").slice(0, DIGITS));
}

const LEFT_OUT: Readonly<Record<string, string>> = {
  small: "too small to gain",
  chunked: "zstd:chunked, needs no index",
  foreign: "not in the registry",
  index_too_large: "its index would cost more than 2 % of it",
};

const COLUMNS: readonly Column<IndexedLayerFacts>[] = [
  { header: "LAYER", cell: ({ digest }) => shortDigest(digest) },
  { header: "SIZE", cell: ({ size_bytes: size }) => formatBytes(size), align: "right" },
  { header: "INDEX", cell: ({ index_bytes: size }) => formatBytesOrDash(size), align: "right" },
  { header: "PACK", cell: ({ pack_bytes: size }) => formatBytesOrDash(size), align: "right" },
  { header: "UPDATE FROM", cell: ({ least_bytes: size }) => formatBytesOrDash(size), align: "right" },
  {
    header: "",
    cell: ({ left_out: why }) => sanitizeLine(why === null ? "" : (LEFT_OUT[why] ?? why)),
    canShrink: true,
  },
];

/** Renders what came of the index of each platform. */
export function renderImageIndexes(indexes: readonly ImageIndex[], theme: Theme, width: number | undefined): string {
  return indexes.map((index) => renderImageIndex(index, theme, width)).join("\n\n");
}

function renderImageIndex(index: ImageIndex, theme: Theme, width: number | undefined): string {
  const { layers, platform } = index;
  const title = `${sanitizeLine(platform)}: ${summaryOf(index)}`;
  return [theme.bold(title), "", renderTable(COLUMNS, layers, theme, width), ...notes(index, theme)].join("\n");
}

function summaryOf({ result, layers }: ImageIndex): string {
  if (result === "nothing") return "no layer gains by an index; nothing was written";
  const indexed = layers.filter((layer) => layer.index_bytes !== null);
  const sum = (pick: (layer: IndexedLayerFacts) => number | null): number =>
    indexed.reduce((total, layer) => total + (pick(layer) ?? 0), 0);
  const sizes = `index ${formatBytes(sum((layer) => layer.index_bytes))}, pack ${formatBytes(sum((layer) => layer.pack_bytes))}`;
  const share = `${indexed.length} of ${layers.length} layers`;
  if (result === "present") return `the registry has an index of ${share} (${sizes}); nothing was written`;
  return `index of ${share} written (${sizes})`;
}

function notes({ result, layers }: ImageIndex, theme: Theme): string[] {
  if (result !== "written") return [];
  const indexed = layers.filter((layer) => layer.least_bytes !== null);
  const whole = indexed.reduce((total, layer) => total + layer.size_bytes, 0);
  const least = indexed.reduce((total, layer) => total + (layer.least_bytes ?? 0), 0);
  return [
    "",
    `A device with all contents fetches ${formatBytes(least)} of these layers instead of ${formatBytes(whole)}.`,
    theme.dim("UPDATE FROM is what every update of the layer costs; contents that changed come on top."),
    theme.dim("What a certain update costs: edgectl images explain OLD NEW"),
  ];
}

const SHOWN_FILES = 15;

interface UpdateCostOptions {
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
