import type { ReactNode } from "react";
import { formatAge, formatTime } from "./durations.ts";
import { useClockText } from "./use-now.ts";

interface Props {
  /** Unix seconds; `null` for never. */
  readonly at: number | null;
  readonly never?: string;
}

/** How long ago something was, or how long until it is. The exact time is its title. */
export function Age({ at, never = "never" }: Props): ReactNode {
  const text = useClockText((now) => (at === null ? never : formatAge(at, now)));
  if (at === null) return text;
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={formatTime(at)}>
      {text}
    </time>
  );
}
