import { type ReactNode, useSyncExternalStore } from "react";
import { serverNow } from "../api/reachability.ts";
import { formatAge, formatTime } from "./durations.ts";

const TICK_MS = 1000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = serverNow();

/** The service's time in milliseconds, which changes each second: one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, readNow);
}

/** A text that follows from the service's time in milliseconds. Renders only when it changes: most ages stay for hours. */
function useClockText(format: (nowMs: number) => string): string {
  return useSyncExternalStore(subscribe, () => format(readNow()));
}

function readNow(): number {
  if (timer === undefined) now = Math.floor(serverNow() / TICK_MS) * TICK_MS;
  return now;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Math.floor(serverNow() / TICK_MS) * TICK_MS;
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

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
