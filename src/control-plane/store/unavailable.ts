import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

/**
 * The store cannot be reached at the moment, such as while its database restarts. Whether a change was made is not known:
 * the call may be repeated, and what is repeated must expect its earlier result.
 */
export class StoreUnavailableError extends Error {
  /** @param reason for the service's log, without secrets; clients do not see it */
  constructor(reason: string, options?: ErrorOptions) {
    super(`the database cannot be reached: ${reason}`, options);
    this.name = "StoreUnavailableError";
  }
}

/** How long a client is told to wait, in seconds. */
export const STORE_RETRY_AFTER_S = 5;

/** Delay before a call is repeated: 1 to 5 seconds, spread, so that not everything comes back at once. */
export function storeRetryDelayMs(attempt: number, random: number): number {
  return 1_000 + Math.floor(random * Math.min(4_000, 1_000 * 2 ** Math.min(attempt, 2)));
}

/**
 * Calls `work` until the store is available. Rejects with any other error of `work`, and with the last
 * `StoreUnavailableError` when the signal aborts or after `maxAttempts`.
 */
export async function repeatWhileUnavailable<T>(work: () => Promise<T>, options: RepeatOptions): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      const { clock, signal, maxAttempts = Infinity } = options;
      if (signal?.aborted || attempt + 1 >= maxAttempts) throw error;
      await clock.sleep(storeRetryDelayMs(attempt, Math.random()), signal).catch(() => {
        throw error;
      });
    }
  }
}

export interface RepeatOptions {
  readonly clock: Pick<Clock, "sleep">;
  readonly signal?: AbortSignal;
  readonly maxAttempts?: number;
}

/** Logs an error, unless it is that the store is away: one line says that for everything. See `StoreOutageLog`. */
export function logStoreError(logger: Logger, error: unknown, fields: object, message: string): void {
  if (error instanceof StoreUnavailableError) logger.debug({ ...fields, reason: error.message }, message);
  else logger.error({ ...fields, err: error }, message);
}
