/*
 * How long a network keeps an idle connection: address translators and firewalls on the way forget it sooner or later,
 * and nobody is told. Every keep-alive less is data saved; one that comes too late leaves the device unreachable until
 * the loss is noticed.
 */

/** Bounds of the pause between keep-alives, in milliseconds. */
export interface KeepaliveBounds {
  /** Where nothing is known of a network yet. */
  readonly startMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

/** What is known of a network. */
export interface IdleEstimate {
  /** Longest silence after which the connection was still there, in milliseconds; 0 where none was tried. */
  readonly heldMs: number;
  /** Shortest silence it was lost in, longer than `heldMs`; `undefined` where none was. */
  readonly lostMs: number | undefined;
  /** Pauses survived since anything new was learned. */
  readonly survived: number;
}

export const INITIAL_ESTIMATE: IdleEstimate = { heldMs: 0, lostMs: undefined, survived: 0 };

const GROWTH = 1.5;

/** Below a gap of so much between what held and what did not, it is not worth a loss to know more. */
const MAX_GAP_FACTOR = 1.15;

/** A keep-alive is sent so much before the silence that is known to be survived, for what differs from time to time. */
const MARGIN = 0.95;

/** After so many pauses survived, a loss from long ago is doubted: networks change. */
const MAX_TRUSTED_SURVIVALS = 1_000;

/** The pause to make now, in milliseconds. */
export function nextKeepaliveMs({ heldMs, lostMs }: IdleEstimate, bounds: KeepaliveBounds): number {
  if (heldMs === 0) return clamp(lostMs === undefined ? bounds.startMs : lostMs / 2, bounds);
  if (lostMs === undefined) return clamp(heldMs * GROWTH, bounds);
  const isKnown = lostMs / heldMs <= MAX_GAP_FACTOR;
  return clamp(isKnown ? heldMs * MARGIN : Math.sqrt(heldMs * lostMs), bounds);
}

/** The connection was still there after a silence. */
export function learnSurvived(known: IdleEstimate, silenceMs: number): IdleEstimate {
  const { heldMs, lostMs, survived } = known;
  // What was lost once was held now: something else had cut it then, or the network is another one.
  const isRefuted = lostMs !== undefined && silenceMs >= lostMs;
  if (silenceMs > heldMs) return { heldMs: silenceMs, lostMs: isRefuted ? undefined : lostMs, survived: 0 };
  if (lostMs === undefined || survived + 1 < MAX_TRUSTED_SURVIVALS) return { ...known, survived: survived + 1 };
  return { heldMs, lostMs: undefined, survived: 0 };
}

/** The connection was lost in a silence, on a network that was there all the time. */
export function learnLost({ heldMs, lostMs }: IdleEstimate, silenceMs: number): IdleEstimate {
  const lost = Math.min(silenceMs, lostMs ?? Infinity);
  // What held before does not hold any more: half of it is where to begin again.
  return { heldMs: heldMs < lost ? heldMs : Math.floor(lost / 2), lostMs: lost, survived: 0 };
}

function clamp(ms: number, { minMs, maxMs }: KeepaliveBounds): number {
  return Math.round(Math.min(maxMs, Math.max(minMs, ms)));
}
