import type { Clock } from "../../lib/clock.ts";
import type { Uplink } from "../link/uplink.ts";

/** Answers since when the link is up, or is not, whatever it tries meanwhile: in monotonic milliseconds. */
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
