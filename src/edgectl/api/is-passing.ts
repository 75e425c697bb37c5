import { NetworkFailure } from "./network-failure.ts";
import { ServiceFailure } from "./service-failure.ts";

/** HTTP status with which a service asks for fewer requests. */
const TOO_MANY_REQUESTS = 429;

/**
 * Whether the same request may succeed later: the connection is lost, or the service or a proxy before it is busy, restarting
 * or failing. A refusal is final.
 */
export function isPassing(error: unknown): error is NetworkFailure | ServiceFailure {
  if (error instanceof NetworkFailure) return true;
  return error instanceof ServiceFailure && (error.httpStatus === TOO_MANY_REQUESTS || error.httpStatus >= 500);
}

/** Returns how long the service has asked to wait, in milliseconds. */
export function askedPauseMs(error: unknown): number {
  return error instanceof ServiceFailure ? (error.retryAfterMs ?? 0) : 0;
}
