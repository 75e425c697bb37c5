import type { Clock } from "../../lib/clock.ts";
import type { Uplink } from "../link/uplink.ts";

/**
 * Returns a function for the time since which the link is online or offline, in monotonic milliseconds. The listener is
 * never disposed: it lives as long as the daemon.
 */
export function linkWatch(uplink: Pick<Uplink, "status" | "onStatus">, clock: Clock): () => number {
  let isOnline = uplink.status().state === "online";
  let since = clock.monotonic();
  uplink.onStatus(({ state, sinceMs }) => {
    if ((state === "online") === isOnline) return;
    isOnline = !isOnline;
    since = sinceMs;
  });
  return () => since;
}
