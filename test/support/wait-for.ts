import { inspect } from "node:util";

/** How long a test waits for a condition, in milliseconds: long enough for a machine that is busy with other work. */
export const MAX_WAIT_MS = 50_000;

interface WaitOptions {
  /** Milliseconds until the wait has failed. Default `MAX_WAIT_MS`. */
  readonly timeoutMs?: number;
  /** Milliseconds between two looks. Default 25 ms. */
  readonly intervalMs?: number;
}

/**
 * Asks until the answer is neither `undefined`, `null` nor `false`, and answers it. Fails with what was waited for and
 * what was seen last, be it a value or an error.
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
  throw new Error(`waited ${timeoutMs} ms in vain for ${what}; seen last: ${inspect(last, { depth: 6 })}`);
}
