/*
 * When the link to the control plane is tried again. Two forces: a device nobody can reach is worth nothing, and a
 * fleet that returns at one instant takes down what it returns to.
 */

/** How an attempt ended, by what it means for the next one. `reason` is for the technician. */
export type AttemptOutcome = { readonly reason: string } & (
  | {
      /** The device token is not accepted. Trying again only helps once somebody has acted. */ readonly kind: "refused";
    }
  | { /** No protocol version in common: one of the two must be updated. */ readonly kind: "unsupported" }
  | { /** Another process connected with this device's token. */ readonly kind: "replaced" }
  | {
      /** The control plane said it goes away, to come back within about `windowMs`. */ readonly kind: "restarting";
      readonly windowMs: number;
    }
  | {
      /**
       * Anything else. `retryAfterMs`: what the other side asked for. `shared`: the other side hung up or refused, which
       * a whole fleet may have met at the same instant; a line of its own that failed is each device's own.
       */ readonly kind: "failed";
      readonly retryAfterMs?: number;
      readonly isFleetWide?: boolean;
    }
);

/** Bounds of an exponential backoff, in milliseconds. */
export interface BackoffBounds {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** A random delay for attempt number `attempt`, from 0 up to the exponential bound: `fullJitter` over a random source. */
export type Jitter = (attempt: number, bounds: BackoffBounds) => number;

export interface LinkState {
  /** Attempts since the last session that was stable. */
  readonly attempt: number;
}

export const INITIAL_LINK_STATE: LinkState = { attempt: 0 };

const MINUTE = 60_000;

/** A session that lasted this long was stable: the next failure is a new story. */
export const STABLE_SESSION_MS = MINUTE;

/** The longest wait another side may ask for. */
export const MAX_RETRY_AFTER_MS = 60 * MINUTE;

/**
 * The least window devices spread over that the other side sent away, in milliseconds. However short the
 * outage was, about a quarter of a fleet comes back within one second at the most; a device alone loses five seconds on
 * average, as a rule while the service is not there anyway.
 */
const MIN_FLEET_WINDOW_MS = 10_000;

/** 2 to 4 minutes at first, 2 to 15 in the end. */
const REFUSED = { floorMs: 2 * MINUTE, bounds: { baseMs: 2 * MINUTE, maxMs: 13 * MINUTE } };

/** 1 to 2 minutes at first, 1 to 15 in the end. */
const REPLACED = { floorMs: MINUTE, bounds: { baseMs: MINUTE, maxMs: 14 * MINUTE } };

export interface NextAttempt {
  readonly state: LinkState;
  /** Wait before the next attempt, in milliseconds. */
  readonly delayMs: number;
}

/**
 * @param onlineMs how long the session stood after its handshake, 0 if it never did
 * @param backoff bounds for failures that call for nothing special
 */
export function nextAttempt(
  state: LinkState,
  outcome: AttemptOutcome,
  onlineMs: number,
  backoff: BackoffBounds,
  jitter: Jitter,
): NextAttempt {
  // Two processes that share a token take the link from each other for ever: however long each turn lasts, it is
  // no sign that things are well, and every turn costs data.
  const stable = onlineMs >= STABLE_SESSION_MS && outcome.kind !== "replaced";
  const attempt = stable ? 0 : state.attempt;
  return { state: { attempt: attempt + 1 }, delayMs: delay(attempt, outcome, backoff, jitter) };
}

function delay(attempt: number, outcome: AttemptOutcome, backoff: BackoffBounds, jitter: Jitter): number {
  switch (outcome.kind) {
    case "refused":
    case "unsupported":
      return REFUSED.floorMs + jitter(attempt, REFUSED.bounds);
    case "replaced":
      return REPLACED.floorMs + jitter(attempt, REPLACED.bounds);
    case "restarting": {
      const wait = within(bounded(outcome.windowMs), jitter);
      // A control plane that says goodbye to every new session must not be met at the rate it does so.
      return attempt === 0 ? wait : wait + jitter(attempt, backoff);
    }
    case "failed": {
      const floor = bounded(outcome.retryAfterMs ?? 0);
      // A whole fleet is given the same Retry-After, so the longer it is the wider the fleet must spread.
      return (
        floor + within(floor / 5, jitter) + jitter(attempt, outcome.isFleetWide ? spread(attempt, backoff) : backoff)
      );
    }
  }
}

/** The same bounds, nowhere narrower than the window of a fleet. */
function spread(attempt: number, { baseMs, maxMs }: BackoffBounds): BackoffBounds {
  const widest = Math.min(maxMs, Math.max(MIN_FLEET_WINDOW_MS, baseMs * 2 ** Math.min(attempt, 30)));
  return { baseMs: widest, maxMs: widest };
}

/** Uniform over [0, windowMs). */
function within(windowMs: number, jitter: Jitter): number {
  return jitter(0, { baseMs: windowMs, maxMs: windowMs });
}

function bounded(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
