/** What the agent's own traffic is for. */
export type TrafficPurpose = "control" | "telemetry" | "logs" | "pulls";

/** Bytes that went over the network, as the agent sees them: with TLS where it can see that, without TCP and IP. */
export interface Traffic {
  readonly purpose: TrafficPurpose;
  readonly direction: "sent" | "received";
  readonly bytes: number;
  /** The app and the deployment they were for, where they were for one. */
  readonly app?: string;
  readonly deployment?: string;
}

/** Where traffic is counted. Costs next to nothing: may be called for every chunk. Never throws. */
export interface Ledger {
  count(traffic: Traffic): void;
}
