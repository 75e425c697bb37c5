import type { LogRing } from "./log-ring.ts";

type Counts = Pick<LogRing, "keptLines" | "leftOutLines" | "droppedLines">;

/** How many lines of a log are shown and how many are not, such as `5,000 lines shown, 12 left out between them`. */
export function logCounts({ keptLines, leftOutLines, droppedLines }: Counts): string {
  return [
    `${format(keptLines)} ${keptLines === 1 ? "line" : "lines"} shown`,
    ...(leftOutLines > 0 ? [`${format(leftOutLines)} left out between them`] : []),
    ...(droppedLines > 0 ? [`${format(droppedLines)} earlier ones no longer kept`] : []),
  ].join(", ");
}

function format(count: number): string {
  return count.toLocaleString("en");
}
