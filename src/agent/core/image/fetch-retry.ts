/** How a try to fetch more of a blob went, that did not bring all of it. */
export interface FailedFetch {
  /** Bytes that were not there before. */
  readonly gained: number;
  /** Since the last such byte, or since the fetching began; in milliseconds. */
  readonly silentMs: number;
  /** How long the registry wants to be left alone, where it says so. */
  readonly retryAfterMs: number | undefined;
}

export interface FetchBounds {
  /** How long no byte may come before the download is given up, in milliseconds. */
  readonly patienceMs: number;
  readonly baseMs: number;
  readonly maxMs: number;
}

export type FetchRetry =
  | { readonly kind: "retry"; readonly afterMs: number; readonly failures: number }
  | { readonly kind: "give_up" };

/** A connection that brought less is not worth making again at once: setting it up may have cost as much. */
export const MIN_USEFUL_FETCH_BYTES = 64 * 1024;

/**
 * What to do after a try that did not bring the whole blob. There is no number of tries: a link that drops every
 * megabyte brings an image all the same. After one that was worth it the next follows at once; otherwise the pauses
 * grow, with full jitter. It is given up when nothing new came for as long as the device is patient.
 *
 * @param failures tries in a row that were not worth their connection
 * @param random in [0, 1)
 */
export function afterFailedTry(failed: FailedFetch, failures: number, bounds: FetchBounds, random: number): FetchRetry {
  const wasWorthIt = failed.gained >= MIN_USEFUL_FETCH_BYTES;
  const left = bounds.patienceMs - (failed.gained > 0 ? 0 : failed.silentMs);
  if (left <= 0) return { kind: "give_up" };
  const bound = wasWorthIt ? 0 : Math.min(bounds.maxMs, bounds.baseMs * 2 ** Math.min(failures, 30));
  const wanted = Math.max(failed.retryAfterMs ?? 0, Math.floor(random * bound));
  return { kind: "retry", afterMs: Math.ceil(Math.min(wanted, left)), failures: wasWorthIt ? 0 : failures + 1 };
}
