import type { Welcome } from "./frame-handler.ts";
import type { FrameCounts } from "./frame-meter.ts";

/** The link as a technician wants to know it. Times are monotonic milliseconds, as of the agent's clock. */
export interface LinkStatus {
  readonly state: "connecting" | "online" | "waiting" | "stopped";
  /** Since when it has been in this state. */
  readonly sinceMs: number;
  /** How the last attempt or session ended that did not end on purpose. */
  readonly lastError: { readonly reason: string; readonly atMs: number } | undefined;
  /** While `waiting`: when the next attempt is made. */
  readonly nextTryAtMs: number | undefined;
  /** Who the control plane took the device for on the last session. */
  readonly asset: Welcome["asset"] | undefined;
  /** Sessions after the first. */
  readonly reconnects: number;
  readonly frames: FrameCounts;
}
