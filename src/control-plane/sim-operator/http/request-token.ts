import { type Clock, deadline } from "../../../lib/clock.ts";
import type { SimOperatorError } from "../sim-operator.ts";
import { broken, throttled, tokenRefusal, unreachable } from "./operator-errors.ts";
import { askedPause, readJson } from "./read-response.ts";

const TIMEOUT_MS = 10_000;
/** Pause after too many requests for tokens, where the operator does not say one. */
const THROTTLED_PAUSE_MS = 60_000;

/**
 * Asks for a token with credentials in the body: a form, or JSON. Returns the parsed answer. Throws `SimOperatorError`: with
 * `credentials` where they are wrong. Nothing of the credentials is in an error.
 */
export async function requestToken(
  clock: Clock,
  url: string,
  body: URLSearchParams | string,
  signal: AbortSignal,
): Promise<unknown> {
  using limit = deadline(clock, TIMEOUT_MS, signal);
  try {
    const response = await fetch(url, {
      method: "POST",
      // A redirect would take the credentials elsewhere.
      redirect: "manual",
      headers: { Accept: "application/json", ...(typeof body === "string" && { "Content-Type": "application/json" }) },
      body,
      signal: limit.signal,
    });
    if (response.ok) return await readJson(response);
    throw await refusalOf(response, clock);
  } catch (cause) {
    signal.throwIfAborted();
    throw unreachable(cause, TIMEOUT_MS);
  }
}

async function refusalOf(response: Response, clock: Clock): Promise<SimOperatorError> {
  const { status } = response;
  // The status says enough.
  if (status < 500 && status !== 429) return tokenRefusal(status, await readJson(response).catch(() => undefined));
  await response.body?.cancel();
  const retryAfterMs = askedPause(response, clock.timeOfDay());
  return status === 429 ? throttled(retryAfterMs ?? THROTTLED_PAUSE_MS) : broken(status);
}
