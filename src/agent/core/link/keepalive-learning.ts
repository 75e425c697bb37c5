/*
 * Learns how long a network keeps an idle connection: NATs and firewalls drop it silently after some time, proxies close it. Fewer
 * keep-alives save data; one that comes too late leaves the device unreachable until the loss is noticed, and costs a reconnect.
 */

/** Bounds of the keep-alive interval, in milliseconds. */
export interface KeepaliveBounds {
  /** First interval on an unknown network. */
  readonly startMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

/** What was learned about a network. */
export interface IdleEstimate {
  /** Longest silence the connection survived, in milliseconds; 0 if none yet. */
  readonly heldMs: number;
  /** Shortest silence in which it was lost, longer than `heldMs`; `undefined` if none. */
  readonly lostMs: number | undefined;
  /** Number of survived silences since the estimate last changed. */
  readonly survived: number;
  /** Connections in a row that were closed in a silence which none has survived since. */
  readonly closes: number;
  /** The shortest of these silences, in milliseconds. */
  readonly closedMs: number | undefined;
  /** Longest silence that was survived since the last close, in milliseconds. */
  readonly heldSinceCloseMs: number;
  /** Whether `lostMs` follows from closes. */
  readonly isByClose: boolean;
  /** Closes that the interval which follows from them did not prevent. */
  readonly futile: number;
  /** Closes have another cause here, such as connections of a limited life. */
  readonly ignoresCloses: boolean;
}

export const INITIAL_ESTIMATE: IdleEstimate = {
  heldMs: 0,
  lostMs: undefined,
  survived: 0,
  closes: 0,
  closedMs: undefined,
  heldSinceCloseMs: 0,
  isByClose: false,
  futile: 0,
  ignoresCloses: false,
};

/** What keeping a connection and making one cost, in bytes with all headers, as measured. */
export interface LinkCosts {
  readonly keepaliveBytes: number;
  readonly reconnectBytes: number;
  /** What keep-alives may cost in a day on this network; `undefined`: no limit. */
  readonly maxBytesPerDay: number | undefined;
}

const DAY_MS = 86_400_000;

const GROWTH = 1.5;

/** If `lostMs` is at most this multiple of `heldMs`, a more exact value is not worth another loss. */
const MAX_GAP_FACTOR = 1.15;

/** The interval is this fraction of the longest survived silence, to allow for variation. */
const MARGIN = 0.95;

/** After this many survived silences, and at least a day of them, an old loss is discarded: networks change. */
const MAX_TRUSTED_SURVIVALS = 1_000;

/** A close may be of the service or the line; so many in a row, with no longer silence in between, are of the network. */
const MIN_CLOSES = 3;
/** After so many closes that shorter intervals did not prevent, silence was not their cause. */
const MAX_FUTILE = 3;
/** A silence of this share of the one before a close counts as survived. */
const AS_LONG = 0.9;

/** A shorter interval has to be worth what it costs. */
const USUAL_MIN_MS = 60_000;

/** Returns the next keep-alive interval, in milliseconds. */
export function nextKeepaliveMs(known: IdleEstimate, bounds: KeepaliveBounds, costs?: LinkCosts): number {
  const ms = clamp(wantedMs(known, bounds), bounds);
  const { lostMs } = known;
  if (lostMs === undefined || costs === undefined || ms >= Math.min(USUAL_MIN_MS, bounds.startMs)) return ms;
  return isWorthIt(ms, lostMs, costs) ? ms : Math.max(ms, bounds.startMs);
}

/** Whether keep-alives at this interval cost less than the reconnects that they save, and are within the budget. */
export function isWorthIt(
  intervalMs: number,
  lostMs: number,
  { keepaliveBytes, reconnectBytes, maxBytesPerDay = Infinity }: LinkCosts,
): boolean {
  const perDay = bytesPerDay(keepaliveBytes, intervalMs);
  return perDay < bytesPerDay(reconnectBytes, lostMs) && perDay <= maxBytesPerDay;
}

/** Returns what something costs in a day that costs so many bytes each time. */
export function bytesPerDay(bytes: number, intervalMs: number): number {
  return (bytes * DAY_MS) / intervalMs;
}

function wantedMs({ heldMs, lostMs }: IdleEstimate, { startMs }: KeepaliveBounds): number {
  if (heldMs === 0) return lostMs === undefined ? startMs : lostMs / 2;
  // Nothing speaks for a shorter one, however short the silences of a busy link were.
  if (lostMs === undefined) return Math.max(heldMs * GROWTH, Math.min(USUAL_MIN_MS, startMs));
  const isKnown = lostMs / heldMs <= MAX_GAP_FACTOR;
  return isKnown ? heldMs * MARGIN : Math.sqrt(heldMs * lostMs);
}

/** Updates the estimate after the connection survived a silence. */
export function learnSurvived(known: IdleEstimate, silenceMs: number): IdleEstimate {
  const { heldMs, lostMs, survived, closedMs } = known;
  const isRefuted = closedMs !== undefined && silenceMs >= closedMs;
  const next: IdleEstimate = {
    ...known,
    heldSinceCloseMs: Math.max(known.heldSinceCloseMs, silenceMs),
    ...(isRefuted && { closes: 0, closedMs: undefined }),
  };
  if (silenceMs > heldMs) {
    // The earlier loss had another cause, or the network has changed.
    const hasChanged = lostMs !== undefined && silenceMs >= lostMs;
    return { ...next, heldMs: silenceMs, survived: 0, ...(hasChanged && FORGOTTEN_LOSS) };
  }
  const isOld = survived + 1 >= MAX_TRUSTED_SURVIVALS && (survived + 1) * heldMs >= DAY_MS;
  const hasLearned = lostMs !== undefined || known.ignoresCloses;
  return hasLearned && isOld ? { ...next, ...FORGOTTEN_LOSS, survived: 0 } : { ...next, survived: survived + 1 };
}

const FORGOTTEN_LOSS = { lostMs: undefined, isByClose: false, futile: 0, ignoresCloses: false } as const;

/** Updates the estimate after the connection was lost in a silence while the network was up. */
export function learnLost(known: IdleEstimate, silenceMs: number): IdleEstimate {
  const { heldMs, lostMs } = known;
  const lost = Math.min(silenceMs, lostMs ?? Infinity);
  // A silence that was survived before is not any more: continue from half of it.
  return { ...known, heldMs: heldMs < lost ? heldMs : Math.floor(lost / 2), lostMs: lost, survived: 0 };
}

/**
 * Updates the estimate after neither side but something in between closed the connection in a silence, while the network was up. One
 * close proves nothing: the service may have crashed. In the life of a connection that was closed by an idle timeout no silence
 * of that length was survived; otherwise silence is not the cause.
 */
export function learnClosed(known: IdleEstimate, silenceMs: number): IdleEstimate {
  const next = { ...known, heldSinceCloseMs: 0 };
  if (known.ignoresCloses) return next;
  if (known.heldSinceCloseMs >= silenceMs * AS_LONG) {
    const futile = known.isByClose ? known.futile + 1 : 0;
    if (futile < MAX_FUTILE) return { ...next, closes: 0, closedMs: undefined, futile };
    return { ...INITIAL_ESTIMATE, heldMs: known.heldMs, ignoresCloses: true };
  }
  const closes = known.closes + 1;
  const closedMs = Math.min(silenceMs, known.closedMs ?? Infinity);
  // On a network that is known to close, a silence longer than all that were survived needs no further proof.
  const isProven = known.isByClose && silenceMs > known.heldMs;
  if (!isProven && closes < MIN_CLOSES) return { ...next, closes, closedMs };
  return { ...learnLost(next, closedMs), closes: 0, closedMs: undefined, isByClose: true, futile: 0 };
}

function clamp(ms: number, { minMs, maxMs }: KeepaliveBounds): number {
  return Math.round(Math.min(maxMs, Math.max(minMs, ms)));
}
