import type { ReactNode } from "react";
import { formatDuration, formatRoundedDuration, formatTime } from "./durations.ts";
import { useNow } from "./use-now.ts";

interface Props {
  /** Unix seconds; `null` for never. */
  readonly at: number | null;
  readonly never?: string;
}

/** How long ago something was, or how long until it is. The exact time is its title. */
export function Age({ at, never = "never" }: Props): ReactNode {
  const now = useNow();
  if (at === null) return never;
  const seconds = now / 1000 - at;
  // The service's clock is known to a second or two.
  const text = seconds > -3 ? `${formatDuration(seconds)} ago` : `in ${formatRoundedDuration(-seconds)}`;
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatTime(at)}>
      {text}
    </time>
  );
}
