import type { TrafficPurpose } from "../../protocol/data-usage.ts";

/** Bytes that went over the network, as the agent sees them: with TLS where it can see that, without TCP and IP. */
export interface Traffic {
  readonly purpose: TrafficPurpose;
  readonly direction: "sent" | "received";
  readonly bytes: number;
  /** In how many pieces they went that stood by themselves; left out for a stream. What TCP and IP add is estimated by it. */
  readonly messages?: number;
  /** The app and the deployment they were for, where they were for one. */
  readonly app?: string;
  readonly deployment?: string;
}

/** Where traffic is counted. Costs next to nothing: may be called for every chunk. Never throws. */
export interface Ledger {
  count(traffic: Traffic): void;
}
