import { EdgeError, type ErrorDetails } from "../../protocol/errors/errors.ts";
import { type OperatorFailure, SimOperatorError } from "./sim-operator.ts";

/** In words for API clients, without anything that an operator answered. */
const WORDS: Readonly<Record<OperatorFailure, string>> = {
  unavailable: "The SIM operator did not answer.",
  throttled: "The SIM operator takes no more requests for now.",
  credentials: "The SIM operator does not accept the credentials for it.",
  not_found: "The SIM operator does not know what it was asked for.",
  refused: "The SIM operator refused the request.",
  malformed: "The SIM operator's answer could not be understood.",
};

/** What `details` of `SimOperatorFailed` say of why the operator failed. */
export function failureDetails(cause: unknown): ErrorDetails {
  if (!(cause instanceof SimOperatorError)) return {};
  const { failure: reason, retryAfterMs } = cause;
  return { reason, ...(retryAfterMs !== undefined && { retry_after_s: Math.ceil(retryAfterMs / 1000) }) };
}

/** Returns the error `SimOperatorFailed` for a question that the operator did not answer. */
export function operatorFailed(cause: unknown, details: ErrorDetails): EdgeError {
  const message = WORDS[cause instanceof SimOperatorError ? cause.failure : "unavailable"];
  return new EdgeError("SimOperatorFailed", message, { ...details, ...failureDetails(cause) }, { cause });
}
