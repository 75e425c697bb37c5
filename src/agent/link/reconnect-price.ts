import type { Clock } from "../../lib/clock.ts";
import { afterAttempt, costPause, fullPurse, type ReconnectPurse } from "../core/reconnect-cost.ts";

/** Slows attempts to connect down by what they cost. */
export interface ReconnectPrice {
  /** Takes note of an attempt that cost so many bytes, and answers how long to wait before the next, in milliseconds. */
  pauseAfter(bytes: number): number;
}

/** @param bytesPerDay what may be spent on connecting where the device is now; `undefined` for as much as it takes */
export function reconnectPrice(clock: Clock, bytesPerDay: () => number | undefined): ReconnectPrice {
  let purse: ReconnectPurse | undefined;
  return {
    pauseAfter(bytes) {
      const now = clock.monotonic();
      const allowance = bytesPerDay();
      if (allowance === undefined) {
        purse = undefined;
        return 0;
      }
      purse = afterAttempt(purse ?? fullPurse(allowance, now), bytes, allowance, now);
      return costPause(purse, bytes, allowance);
    },
  };
}
