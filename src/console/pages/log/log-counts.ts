import type { LogRing } from "./log-ring.ts";

type Counts = Pick<LogRing, "keptLines" | "leftOutLines" | "droppedLines">;

/** How many lines of a log are shown and how many are not, such as `5,000 lines shown, 12 left out between them`. */
export function logCounts({ keptLines, leftOutLines, droppedLines }: Counts): string {
  const number = (count: number): string => count.toLocaleString("en");
  return [
    `${number(keptLines)} ${keptLines === 1 ? "line" : "lines"} shown`,
    ...(leftOutLines > 0 ? [`${number(leftOutLines)} left out between them`] : []),
    ...(droppedLines > 0 ? [`${number(droppedLines)} earlier ones no longer kept`] : []),
  ].join(", ");
}
