import type { StreamedEvent } from "../api/deployment-event.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { renderBar } from "./bar.ts";
import { progressDetails } from "../../protocol/deployment-event.ts";

const MAX_BAR_WIDTH = 30;
const MIN_BAR_WIDTH = 5;

const STEP_LABELS: Readonly<Record<string, string>> = { rolling_back: "rolling back" };

export const CONNECTION_LOST_TEXT = "The deployment goes on without it; trying to take the stream up again.";

/** A step's name for people, with its app in a deployment of several. Unknown steps keep the service's name. */
export function stepLabel(event: StreamedEvent): string {
  const step = STEP_LABELS[event.step ?? ""] ?? event.step ?? "running";
  return event.app === undefined ? step : `${event.app} ${step}`;
}

/** Whether an event only moves the progress bar. */
export function isProgress(event: StreamedEvent): boolean {
  return event.status === "Running" && (event.bytes !== undefined || event.progress !== undefined);
}

/** The completed share, from 0 to 1. */
export function fractionOf(event: StreamedEvent): number {
  if (event.progress !== undefined) return event.progress / 100;
  const { done, total } = event.bytes ?? { done: 0, total: 0 };
  return total > 0 ? Math.min(1, done / total) : 0;
}

/**
 * Renders bar, percentage, bytes, rate and time left in at most `width` columns. The last parts are omitted on a narrow
 * terminal. @param rate bytes per second
 */
export function renderProgress(event: StreamedEvent, rate: number | undefined, width: number, theme: Theme): string {
  const fraction = fractionOf(event);
  const percent = `${Math.floor(fraction * 100)} %`.padStart(5);
  const parts = [percent, ...bytesParts(event, rate), ...linkCutParts(event)];
  while (parts.length > 1 && lengthOf(parts) + MIN_BAR_WIDTH > width) parts.pop();
  const bar = Math.max(0, Math.min(MAX_BAR_WIDTH, width - lengthOf(parts)));
  return [renderBar(fraction, bar, theme), ...parts].join("  ");
}

/** Bytes done of the total; with a known rate also the rate and the time left. @param rate bytes per second */
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
