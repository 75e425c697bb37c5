import { inspect } from "node:util";

/** How long a test waits for a condition, in milliseconds: long enough for a busy machine. */
export const MAX_WAIT_MS = 180_000;

interface WaitOptions {
  /** Milliseconds until the wait fails. Default `MAX_WAIT_MS`. */
  readonly timeoutMs?: number;
  /** Milliseconds between two calls. Default 25 ms. */
  readonly intervalMs?: number;
}

/**
 * Calls `look` until it returns neither `undefined`, `null` nor `false`, and returns that value. Rejects with the name
 * of the condition and the last value or error.
 */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, undefined | null | false>> {
  const { timeoutMs = MAX_WAIT_MS, intervalMs = 25 } = options;
  const end = performance.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const value = await look();
      if (value !== undefined && value !== null && value !== false) {
        return value as Exclude<T, undefined | null | false>;
      }
      last = value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, intervalMs);
    });
  } while (performance.now() < end);
  throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}; last result: ${inspect(last, { depth: 6 })}`);
}
