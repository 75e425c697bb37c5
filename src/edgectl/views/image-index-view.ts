import { formatBytes, formatBytesOrDash } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { ImageIndex, IndexedLayerFacts } from "../images/index-image.ts";
import { shortDigest } from "./short-digest.ts";

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
