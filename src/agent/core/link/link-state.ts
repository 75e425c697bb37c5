/*
 * Decides when to reconnect to the control plane: soon, since the device cannot be reached meanwhile, but spread over
 * time, since a fleet that reconnects at once overloads the control plane.
 */

/** How an attempt or session ended, which decides the next delay. `reason` is for the technician. */
export type AttemptOutcome = { readonly reason: string } & (
  | {
      /** The device token was rejected: a person must act. */ readonly kind: "refused";
    }
  | { /** No common protocol version: one side must be updated. */ readonly kind: "unsupported" }
  | {
      /** Another process connected with this device's token. `retryAfterMs`: the delay the control plane asked for. */
      readonly kind: "replaced";
      readonly retryAfterMs?: number;
    }
  | {
      /** The control plane is restarting and asked to reconnect within `windowMs`. */ readonly kind: "restarting";
      readonly windowMs: number;
    }
  | {
      /**
       * Any other failure. `retryAfterMs`: the delay the control plane asked for. `isFleetWide`: the control plane
       * closed or refused the connection, which may affect a whole fleet at once.
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

/** Returns a random delay from 0 to the exponential bound of `attempt`: `fullJitter` with a random source. */
export type Jitter = (attempt: number, bounds: BackoffBounds) => number;

export interface LinkState {
  /** Attempts since the last stable session. */
  readonly attempt: number;
}

export const INITIAL_LINK_STATE: LinkState = { attempt: 0 };

const MINUTE = 60_000;

/** A session of this length is stable: the backoff starts over after it. */
export const STABLE_SESSION_MS = MINUTE;

/** The longest delay the control plane may ask for. */
export const MAX_RETRY_AFTER_MS = 60 * MINUTE;

/**
 * Minimum window over which devices spread after a fleet-wide failure, in milliseconds. It limits how much of a fleet
 * reconnects within one second; a single device loses five seconds on average, usually while the service is down
 * anyway.
 */
const MIN_FLEET_WINDOW_MS = 10_000;

/** 2 to 4 minutes at first, 2 to 15 at most. */
const REFUSED = { floorMs: 2 * MINUTE, bounds: { baseMs: 2 * MINUTE, maxMs: 13 * MINUTE } };

/** 1 to 2 minutes at first, 1 to 15 at most. */
const REPLACED = { floorMs: MINUTE, bounds: { baseMs: MINUTE, maxMs: 14 * MINUTE } };

export interface NextAttempt {
  readonly state: LinkState;
  /** Delay before the next attempt, in milliseconds. */
  readonly delayMs: number;
}

/**
 * Returns the delay before the next attempt.
 *
 * @param onlineMs duration of the session after its handshake; 0 if there was none
 * @param backoff bounds for outcomes of kind `failed`
 */
export function nextAttempt(
  state: LinkState,
  outcome: AttemptOutcome,
  onlineMs: number,
  backoff: BackoffBounds,
  jitter: Jitter,
): NextAttempt {
  // Two processes that share a token replace each other's sessions forever, at the cost of data. So even a long session
  // is not stable if it was replaced.
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
      return Math.max(REPLACED.floorMs, bounded(outcome.retryAfterMs ?? 0)) + jitter(attempt, REPLACED.bounds);
    case "restarting": {
      const wait = within(bounded(outcome.windowMs), jitter);
      // Back off from a control plane that says goodbye to every new session.
      return attempt === 0 ? wait : wait + jitter(attempt, backoff);
    }
    case "failed": {
      const floor = bounded(outcome.retryAfterMs ?? 0);
      // A whole fleet may get the same Retry-After: a longer one needs a wider spread.
      return (
        floor + within(floor / 5, jitter) + jitter(attempt, outcome.isFleetWide ? spread(attempt, backoff) : backoff)
      );
    }
  }
}

/** Returns bounds with a fixed window of at least the fleet's minimum. */
function spread(attempt: number, { baseMs, maxMs }: BackoffBounds): BackoffBounds {
  const widest = Math.min(maxMs, Math.max(MIN_FLEET_WINDOW_MS, baseMs * 2 ** Math.min(attempt, 30)));
  return { baseMs: widest, maxMs: widest };
}

/** Returns a random delay, uniform over [0, windowMs). */
function within(windowMs: number, jitter: Jitter): number {
  return jitter(0, { baseMs: windowMs, maxMs: windowMs });
}

function bounded(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
