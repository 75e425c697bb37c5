import { hash, randomBytes } from "node:crypto";
import { EdgeError } from "../../protocol/errors/errors.ts";

/*
 * Ids of rollouts: `rol_`, the time in milliseconds, by which lists are ordered, and what identifies the request. With an
 * `Idempotency-Key` that is a hash of the key, and of the request, so that a repeat is found among the rollouts of the fleet.
 */

const TIME_DIGITS = 11;
const KEY_DIGITS = 16;
const REQUEST_DIGITS = 8;

/** Identifies a request for a rollout. */
export interface RolloutRequestId {
  readonly key: string;
  readonly request: string;
}

export function requestIdOf(fleetId: string, key: string | undefined, request: unknown): RolloutRequestId {
  if (key === undefined) {
    const random = randomBytes((KEY_DIGITS + REQUEST_DIGITS) / 2).toString("hex");
    return { key: random.slice(0, KEY_DIGITS), request: random.slice(KEY_DIGITS) };
  }
  return {
    key: digestOf([fleetId, key]).slice(0, KEY_DIGITS),
    request: digestOf(request).slice(0, REQUEST_DIGITS),
  };
}

export function rolloutId({ key, request }: RolloutRequestId, nowMs: number): string {
  return `rol_${nowMs.toString(16).padStart(TIME_DIGITS, "0")}${key}${request}`;
}

/** Whether the request made this rollout. Error: `IdempotencyKeyReused` if another request with the same key did. */
export function isMadeBy(id: string, { key, request }: RolloutRequestId): boolean {
  const identity = id.slice("rol_".length + TIME_DIGITS);
  if (!identity.startsWith(key)) return false;
  if (identity !== key + request) {
    const message = `This Idempotency-Key was used for another request, which made rollout ${id}.`;
    throw new EdgeError("IdempotencyKeyReused", message, { rollout_id: id });
  }
  return true;
}

function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value), "hex");
}
