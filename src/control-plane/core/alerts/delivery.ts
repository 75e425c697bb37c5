const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How long a message is tried. */
export const DELIVERY_LIFETIME_MS = DAY_MS;
/** A channel that has failed for so long is disabled. */
export const CHANNEL_PATIENCE_MS = 3 * DAY_MS;
const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = HOUR_MS;
/** Longest `Retry-After` that is followed. */
const MAX_RETRY_AFTER_MS = 6 * HOUR_MS;

/** What the other side has answered. */
export type DeliveryAnswer =
  | { readonly kind: "delivered"; readonly answer: string }
  /** It is tried again. */
  | { readonly kind: "failed"; readonly answer: string; readonly retryAfterMs?: number | undefined }
  /** The other side wants no more messages at all. */
  | { readonly kind: "gone"; readonly answer: string };

export interface Attempted {
  readonly createdAtMs: number;
  /** Including the one that was just made. */
  readonly attempts: number;
  /** Since when the channel fails, before this attempt. */
  readonly failingSinceMs: number | undefined;
}

export interface DeliveryStep {
  readonly state: "delivered" | "waiting" | "failed";
  /** When to try again, with `waiting`. */
  readonly dueMs: number | undefined;
  readonly failingSinceMs: number | undefined;
  readonly disables: boolean;
}

/** Decides what follows from an attempt. @param random from 0 to 1, so that channels do not try in step */
export function afterAttempt(
  answer: DeliveryAnswer,
  attempted: Attempted,
  nowMs: number,
  random: number,
): DeliveryStep {
  if (answer.kind === "delivered")
    return { state: "delivered", dueMs: undefined, failingSinceMs: undefined, disables: false };
  const failingSinceMs = attempted.failingSinceMs ?? nowMs;
  const disables = answer.kind === "gone" || nowMs - failingSinceMs >= CHANNEL_PATIENCE_MS;
  const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(20, attempted.attempts - 1));
  const asked = answer.kind === "failed" ? Math.min(answer.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0;
  const dueMs = Math.ceil(nowMs + Math.max(pauseMs * (0.8 + 0.4 * random), asked));
  const isOver = disables || dueMs >= attempted.createdAtMs + DELIVERY_LIFETIME_MS;
  return { state: isOver ? "failed" : "waiting", dueMs: isOver ? undefined : dueMs, failingSinceMs, disables };
}
