import type { StreamedEvent } from "../api/deployment-event.ts";
import { renderBar } from "../ui/bar.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { progressDetails } from "../../protocol/deployment-event.ts";
import { fractionOf } from "./deployment-view.ts";

const MAX_BAR_WIDTH = 30;
const MIN_BAR_WIDTH = 5;

/**
 * Bar, percent, bytes, rate and time left in at most `width` columns; on a narrow terminal the bar gets shorter, then
 * the parts at the end are left out.
 */
export function renderProgress(event: StreamedEvent, rate: number | undefined, width: number, theme: Theme): string {
  const fraction = fractionOf(event);
  const percent = `${Math.floor(fraction * 100)} %`.padStart(5);
  const parts = [percent, ...bytesParts(event, rate), ...linkCutParts(event)];
  while (parts.length > 1 && lengthOf(parts) + MIN_BAR_WIDTH > width) parts.pop();
  const bar = Math.max(0, Math.min(MAX_BAR_WIDTH, width - lengthOf(parts)));
  return [renderBar(fraction, bar, theme), ...parts].join("  ");
}

/** Bytes of bytes, and where the rate is known, that and the time left. @param rate bytes per second */
export function bytesParts({ bytes }: Pick<StreamedEvent, "bytes">, rate: number | undefined): string[] {
  if (!bytes) return [];
  const parts = [`${formatBytes(bytes.done)} of ${formatBytes(bytes.total)}`];
  if (rate === undefined || rate <= 0) return parts;
  parts.push(`${formatBytes(rate < 1000 ? Math.round(rate) : rate)}/s`);
  if (bytes.total > bytes.done) parts.push(`${formatDuration((bytes.total - bytes.done) / rate)} left`);
  return parts;
}

/** How often the link broke while the device downloaded, where it says so. */
export function linkCutParts(event: StreamedEvent): string[] {
  const { cuts = 0 } = progressDetails(event);
  if (cuts === 0) return [];
  return [`link cut ${cuts === 1 ? "once" : `${cuts} times`}`];
}

function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length + 2, 0);
}
