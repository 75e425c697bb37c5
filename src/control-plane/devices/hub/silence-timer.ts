import type { Clock } from "../../../lib/clock.ts";

/** Time to read what has arrived, in milliseconds. */
const READ_MS = 1_000;

/**
 * Calls `onSilence` after this time, unless disposed when something arrives. If this process stood still, such as on a machine that
 * swaps or was paused, its timers are due before it has read what arrived meanwhile. The silence was its own then, so it reads for a
 * second first: otherwise it would cut all its devices.
 *
 * @param ms at least 1000
 */
export function silenceTimer(clock: Pick<Clock, "timer">, ms: number, onSilence: () => void): Disposable {
  let timer = clock.timer(ms - READ_MS, () => {
    timer = clock.timer(READ_MS, onSilence);
  });
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
