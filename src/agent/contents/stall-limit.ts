import type { Clock } from "../../lib/clock.ts";

/** Passes a stream on, and throws if a chunk takes longer than `ms` milliseconds. Time between two reads does not count. */
export async function* withStallLimit<T>(source: AsyncIterable<T>, clock: Clock, ms: number): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let hasStalled = false;
  try {
    for (;;) {
      const stalled = Promise.withResolvers<never>();
      using _limit = clock.timer(ms, () => {
        hasStalled = true;
        stalled.reject(new Error(`nothing came for ${ms} ms`));
      });
      const { done, value } = await Promise.race([iterator.next(), stalled.promise]);
      if (done === true) return;
      yield value;
    }
  } finally {
    // A stream that hangs does not end in time.
    const ended = iterator.return?.();
    if (hasStalled) ended?.catch(() => {});
    else await ended;
  }
}
