/** Result of a request that did not fetch the whole rest of a blob. */
export interface FailedFetch {
  /** New bytes received. */
  readonly gained: number;
  /** Milliseconds since the last new byte, or since the download began. */
  readonly silentMs: number;
  /** The registry's `Retry-After`, if it sent one. */
  readonly retryAfterMs: number | undefined;
}

export interface FetchBounds {
  /** Time without a new byte after which the download is given up, in milliseconds. */
  readonly patienceMs: number;
  readonly baseMs: number;
  readonly maxMs: number;
}

export type FetchRetry =
  | { readonly kind: "retry"; readonly afterMs: number; readonly failures: number }
  | { readonly kind: "give_up" };

/** After a connection that brought less, the next one is delayed: its setup may cost as much as it brings. */
export const MIN_USEFUL_FETCH_BYTES = 64 * 1024;

/**
 * Decides what to do after a request that did not fetch the whole blob. The number of requests is not limited: a link
 * that drops every megabyte still brings an image. After a useful request the next one follows at once; otherwise the
 * delays grow exponentially, with full jitter. The download is given up when no new byte came for `patienceMs`.
 *
 * @param failures consecutive requests that were not useful
 * @param random in [0, 1)
 */
export function afterFailedTry(failed: FailedFetch, failures: number, bounds: FetchBounds, random: number): FetchRetry {
  const wasUseful = failed.gained >= MIN_USEFUL_FETCH_BYTES;
  const left = bounds.patienceMs - (failed.gained > 0 ? 0 : failed.silentMs);
  if (left <= 0) return { kind: "give_up" };
  const bound = wasUseful ? 0 : Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.min(failures, 30));
  const wanted = Math.max(failed.retryAfterMs ?? 0, Math.floor(random * bound));
  return { kind: "retry", afterMs: Math.ceil(Math.min(wanted, left)), failures: wasUseful ? 0 : failures + 1 };
}
