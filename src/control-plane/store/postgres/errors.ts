import { DatabaseError } from "pg";
import { StoreUnavailableError } from "../unavailable.ts";

const CONFLICTS: ReadonlySet<string> = new Set([
  "40001", // serialization failure
  "40P01", // deadlock
]);

/** SQLSTATEs, or their classes, of a server that cannot work now but may work later. */
const TRANSIENT_STATES: readonly string[] = [
  "08", // connection
  "25006", // read-only: a standby, or a server that is being replaced
  "25P03", // the transaction was idle for too long
  "53", // out of connections, memory or disk
  "55P03", // lock not available
  "57014", // canceled by the timeout for statements
  "57P", // shutting down, starting, crashed
];

/** Bugs in this program, and numbers that are too large for it: repeating the call does not help. */
const OWN_ERRORS = [TypeError, RangeError, SyntaxError];

/** Whether another transaction was in the way, so that the whole transaction has to be repeated. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && CONFLICTS.has(error.code ?? "");
}

/** Returns the error as the store throws it: a `StoreUnavailableError` if it is about the server or the way to it. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof StoreUnavailableError || !(error instanceof Error)) return error;
  const isUnavailable =
    error instanceof DatabaseError
      ? TRANSIENT_STATES.some((state) => error.code?.startsWith(state) === true)
      : !OWN_ERRORS.some((type) => error instanceof type);
  return isUnavailable ? new StoreUnavailableError(error.message, { cause: error }) : error;
}
