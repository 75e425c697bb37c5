import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { AssetPrice, Price } from "../api/rollout-streams.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { assets, foreseenText } from "./rollout-words.ts";

/** Assets that are listed. More are counted; `--json` has all. */
const MAX_LISTED = 50;

/** Renders the price of a rollout: the waves, then each asset, by wave and the largest download first. */
export function renderPrice(
  price: Price,
  asked: readonly AssetPrice[],
  { fleet, asksDevices }: { readonly fleet: string; readonly asksDevices: boolean },
  theme: Theme,
  width: number | undefined,
): string {
  const waves = price.waves.map(({ wave, targets }) => `Wave ${wave} of ${price.waves.length}: ${assets(targets)}`);
  const sums = [
    ...(asksDevices
      ? [`To download: ${formatBytes(price.download_bytes)} in all, on ${price.asked} of ${assets(price.targets)}`]
      : []),
    ...(asksDevices && price.not_asked > 0 ? [`Not asked: ${assets(price.not_asked)}`] : []),
    ...[foreseenText(price.foreseen)].filter((text) => text !== "").map((text) => theme.yellow(sanitizeLine(text))),
    ...(price.refused > 0 ? [theme.yellow(`Refused, or did not answer: ${assets(price.refused)}`)] : []),
    `To start just this, until ${formatTime(price.expires_at)} UTC:`,
    `  edgectl rollouts create ${fleet} --plan ${sanitizeLine(price.plan_id)}`,
  ];
  const sorted = sortByPrice(asked);
  if (sorted.length === 0) return [...waves, ...sums].join("\n");
  const listed = sorted.slice(0, MAX_LISTED);
  const more =
    sorted.length > listed.length ? [`… and ${assets(sorted.length - listed.length)} more; --json has all`] : [];
  return [...waves, "", renderTable(COLUMNS, listed, theme, width), ...more, "", ...sums].join("\n");
}

/** By wave; in each the largest download first, then those that have not told one. */
export function sortByPrice(asked: readonly AssetPrice[]): AssetPrice[] {
  return asked.toSorted(
    (one, other) =>
      one.wave - other.wave ||
      (other.download_bytes ?? -1) - (one.download_bytes ?? -1) ||
      one.asset_name.localeCompare(other.asset_name),
  );
}

const COLUMNS: readonly Column<AssetPrice>[] = [
  { header: "SERIAL", cell: ({ serial_number: serial }) => sanitizeLine(serial), canShrink: true },
  { header: "NAME", cell: ({ asset_name: name }) => sanitizeLine(name), canShrink: true },
  { header: "WAVE", cell: ({ wave }) => String(wave), align: "right" },
  {
    header: "DOWNLOAD",
    cell: ({ download_bytes: bytes }) => (bytes === undefined ? "-" : formatBytes(bytes)),
    align: "right",
  },
  { header: "WAITS FOR", cell: ({ for: reason }) => sanitizeLine(reason ?? "-") },
  { header: "CODE", cell: ({ code }) => sanitizeLine(code ?? "-") },
  { header: "MESSAGE", cell: ({ message }) => sanitizeLine(message ?? "-"), canShrink: true },
];
