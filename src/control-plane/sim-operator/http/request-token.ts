import { type Clock, deadline } from "../../../lib/clock.ts";
import { SimOperatorError } from "../sim-operator.ts";
import { readJson } from "./read-response.ts";
import { parseRetryAfter } from "./retry-after.ts";

const TIMEOUT_MS = 10_000;

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
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      redirect: "error",
      headers: { Accept: "application/json", ...(typeof body === "string" && { "Content-Type": "application/json" }) },
      body,
      signal: limit.signal,
    });
    if (response.ok) return await readJson(response);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof SimOperatorError) throw cause;
    throw new SimOperatorError("no token was given: it cannot be reached", false, { cause, failure: "unavailable" });
  }
  await response.body?.cancel();
  const { status, headers } = response;
  const text = `no token was given: it answered ${status}`;
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"), clock.now());
  if (status === 429)
    throw new SimOperatorError(text, false, { failure: "throttled", retryAfterMs: retryAfterMs ?? 60_000 });
  if (status >= 500) throw new SimOperatorError(text, false, { failure: "unavailable" });
  throw new SimOperatorError(`${text}: the credentials are wrong or revoked`, false, { failure: "credentials" });
}
