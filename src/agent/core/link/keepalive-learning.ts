/*
 * Learns how long a network keeps an idle connection: NATs and firewalls drop it silently after some time. Fewer
 * keep-alives save data; one that comes too late leaves the device unreachable until the loss is noticed.
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
}

export const INITIAL_ESTIMATE: IdleEstimate = { heldMs: 0, lostMs: undefined, survived: 0 };

const GROWTH = 1.5;

/** If `lostMs` is at most this multiple of `heldMs`, a more exact value is not worth another loss. */
const MAX_GAP_FACTOR = 1.15;

/** The interval is this fraction of the longest survived silence, to allow for variation. */
const MARGIN = 0.95;

/** After this many survived silences an old loss is discarded: networks change. */
const MAX_TRUSTED_SURVIVALS = 1_000;

/** Returns the next keep-alive interval, in milliseconds. */
export function nextKeepaliveMs({ heldMs, lostMs }: IdleEstimate, bounds: KeepaliveBounds): number {
  if (heldMs === 0) return clamp(lostMs === undefined ? bounds.startMs : lostMs / 2, bounds);
  if (lostMs === undefined) return clamp(heldMs * GROWTH, bounds);
  const isKnown = lostMs / heldMs <= MAX_GAP_FACTOR;
  return clamp(isKnown ? heldMs * MARGIN : Math.sqrt(heldMs * lostMs), bounds);
}

/** Updates the estimate after the connection survived a silence. */
export function learnSurvived(known: IdleEstimate, silenceMs: number): IdleEstimate {
  const { heldMs, lostMs, survived } = known;
  // The earlier loss had another cause, or the network has changed.
  const isRefuted = lostMs !== undefined && silenceMs >= lostMs;
  if (silenceMs > heldMs) return { heldMs: silenceMs, lostMs: isRefuted ? undefined : lostMs, survived: 0 };
  if (lostMs === undefined || survived + 1 < MAX_TRUSTED_SURVIVALS) return { ...known, survived: survived + 1 };
  return { heldMs, lostMs: undefined, survived: 0 };
}

/** Updates the estimate after the connection was lost in a silence while the network was up. */
export function learnLost({ heldMs, lostMs }: IdleEstimate, silenceMs: number): IdleEstimate {
  const lost = Math.min(silenceMs, lostMs ?? Infinity);
  // A silence that was survived before is not any more: continue from half of it.
  return { heldMs: heldMs < lost ? heldMs : Math.floor(lost / 2), lostMs: lost, survived: 0 };
}

function clamp(ms: number, { minMs, maxMs }: KeepaliveBounds): number {
  return Math.round(Math.min(maxMs, Math.max(minMs, ms)));
}
