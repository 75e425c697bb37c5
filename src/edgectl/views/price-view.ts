import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { AssetPrice, Price } from "../api/rollout-streams.ts";
import { assets } from "./rollout-words.ts";

/** Assets that are listed. More are counted; `--json` has all. */
const MAX_LISTED = 50;

/** Renders the price of a rollout: the waves, then each asset, the largest download first. */
export function renderPrice(
  price: Price,
  asked: readonly AssetPrice[],
  theme: Theme,
  width: number | undefined,
): string {
  const waves = price.waves.map(({ wave, targets }) => `Wave ${wave} of ${price.waves.length}: ${assets(targets)}`);
  const sums = [
    `To download: ${formatBytes(price.download_bytes)} in all, on ${price.asked} of ${assets(price.targets)}`,
    ...(price.not_asked > 0 ? [`Not asked, since not connected: ${assets(price.not_asked)}`] : []),
    ...(price.refused > 0 ? [theme.yellow(`Refused, or did not answer: ${assets(price.refused)}`)] : []),
  ];
  const sorted = sortByPrice(asked);
  if (sorted.length === 0) return [...waves, ...sums].join("\n");
  const listed = sorted.slice(0, MAX_LISTED);
  const more =
    sorted.length > listed.length ? [`… and ${assets(sorted.length - listed.length)} more; --json has all`] : [];
  return [...waves, "", renderTable(COLUMNS, listed, theme, width), ...more, "", ...sums].join("\n");
}

/** The largest download first, then those that have not told one. */
export function sortByPrice(asked: readonly AssetPrice[]): AssetPrice[] {
  return asked.toSorted(
    (one, other) =>
      (other.download_bytes ?? -1) - (one.download_bytes ?? -1) || one.asset_name.localeCompare(other.asset_name),
  );
}

const COLUMNS: readonly Column<AssetPrice>[] = [
  { header: "ASSET", cell: ({ asset_name: name }) => sanitizeLine(name), canShrink: true },
  { header: "WAVE", cell: ({ wave }) => String(wave), align: "right" },
  {
    header: "DOWNLOAD",
    cell: ({ download_bytes: bytes }) => (bytes === undefined ? "-" : formatBytes(bytes)),
    align: "right",
  },
  { header: "CODE", cell: ({ code }) => sanitizeLine(code ?? "-") },
  { header: "MESSAGE", cell: ({ message }) => sanitizeLine(message ?? "-"), canShrink: true },
];
