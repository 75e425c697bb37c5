/** Whether the service answers, and how far its clock is from this machine's. */
export interface Reachability {
  /** When a request first failed without an answer, in the time of `serverNow`; `undefined` while the service answers. */
  readonly unreachableSince: number | undefined;
}

const listeners = new Set<() => void>();
let current: Reachability = { unreachableSince: undefined };
let clockOffsetMs = 0;

export function subscribeReachability(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function readReachability(): Reachability {
  return current;
}

/** The service's time in milliseconds: ages are wrong by as much as this machine's clock is. */
export function serverNow(): number {
  return Date.now() + clockOffsetMs;
}

export function noteUnreachable(): void {
  if (current.unreachableSince === undefined) change({ unreachableSince: serverNow() });
}

export function noteResponse(response: Response): void {
  const date = Date.parse(response.headers.get("date") ?? "");
  // The header has whole seconds. Small differences are left alone, so that ages do not jump.
  if (Math.abs(date - serverNow()) > MAX_CLOCK_ERROR_MS) clockOffsetMs = date - Date.now();
  if (response.status < 502 || response.status > 504) {
    if (current.unreachableSince !== undefined) change({ unreachableSince: undefined });
  } else noteUnreachable();
}

const MAX_CLOCK_ERROR_MS = 2000;

function change(next: Reachability): void {
  current = next;
  for (const listener of listeners) listener();
}
