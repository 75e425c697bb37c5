import { z } from "zod";
import { sanitizedLine } from "../../../protocol/values/sanitized-text.ts";
import { SimOperatorError } from "../sim-operator.ts";

const words = z.object({
  message: z
    .string()
    .transform((text) => text.slice(0, 200))
    .pipe(sanitizedLine(200)),
});
/** Errors of OAuth, RFC 6749 section 5.2, and of emnify: single words, which cannot repeat a secret. */
const code = z.string().regex(/^[A-Za-z][A-Za-z_]{0,63}$/);
const codes = z.union([
  z.object({ error: code }).transform(({ error }) => error),
  z.object({ error_token: code }).transform(({ error_token: error }) => error),
]);

/** An answer that makes no sense. */
export function malformed(what: string, options: ErrorOptions = {}): SimOperatorError {
  return new SimOperatorError(what, false, { ...options, failure: "malformed" });
}

/** The operator asks for a pause. */
export function throttled(retryAfterMs: number): SimOperatorError {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new SimOperatorError(`it wants no requests for ${seconds} s`, false, { failure: "throttled", retryAfterMs });
}

/** An answer with a status of 500 or above. */
export function broken(status: number): SimOperatorError {
  return new SimOperatorError(`it answered ${status}`, false, { failure: "unavailable" });
}

/** No request is sent, as several were not answered. */
export function silent(): SimOperatorError {
  const text = "it did not answer lately, and is asked again in some seconds";
  return new SimOperatorError(text, false, { failure: "unavailable" });
}

/** What a status of 300 to 499 means, with the operator's own message. */
export function refusal(status: number, body: unknown): SimOperatorError {
  const said = words.safeParse(body).data?.message;
  const text = `it answered ${status}${said === undefined ? "" : `: ${said}`}`;
  if (status === 401)
    return new SimOperatorError(`${text}: the credentials are wrong or revoked`, false, { failure: "credentials" });
  if (status === 403)
    return new SimOperatorError(`${text}: the credentials do not allow it`, false, { failure: "credentials" });
  return new SimOperatorError(text, false, { failure: status === 404 ? "not_found" : "refused" });
}

/** What a status of 300 to 499 means where a token was asked for. */
export function tokenRefusal(status: number, body: unknown): SimOperatorError {
  const said = codes.safeParse(body).data;
  const text = `no token was given: it answered ${status}${said === undefined ? "" : ` (${said})`}`;
  if (status === 401 || status === 403)
    return new SimOperatorError(`${text}: the credentials are wrong or revoked`, false, { failure: "credentials" });
  if (status === 400 || status === 404)
    return new SimOperatorError(`${text}: the credentials or the address are wrong`, false, { failure: "credentials" });
  return new SimOperatorError(text, false, { failure: "refused" });
}

/** What `fetch` throws: it timed out, or there is no connection. */
export function unreachable(cause: unknown, timeoutMs: number): SimOperatorError {
  if (cause instanceof SimOperatorError) return cause;
  const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
  const text = timedOut ? `it did not answer within ${timeoutMs / 1000} s` : "it cannot be reached";
  return new SimOperatorError(text, false, { cause, failure: "unavailable" });
}
