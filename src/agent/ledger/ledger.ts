import type { TrafficPurpose } from "../../protocol/link/data-usage.ts";

/** Bytes sent or received over the network: with TLS where the agent can see it, without TCP and IP. */
export interface Traffic {
  readonly purpose: TrafficPurpose;
  readonly direction: "sent" | "received";
  readonly bytes: number;
  /**
   * The purpose as which the connection counts these bytes, among all of its bytes: they are moved from there. Absent if no connection
   * of the agent has carried them.
   */
  readonly carriedAs?: TrafficPurpose;
  /** Number of separate messages; omitted for a stream. Used to estimate the overhead of TCP and IP. */
  readonly messages?: number;
  /** The app and the deployment they were for, if any. */
  readonly app?: string;
  readonly deployment?: string;
}

/** Counts traffic. Cheap enough to be called for every chunk. Never throws. */
export interface Ledger {
  count(traffic: Traffic): void;
}

/** Bytes transferred over a connection so far, and the number of messages. */
export type TrafficSource = () => { readonly sent: number; readonly received: number; readonly messages: number };

/** Counts the bytes of connections. */
export interface TrafficFollower {
  /** Counts the traffic of a connection, and the cost of opening it, until disposed. @param purpose default `control` */
  follow(source: TrafficSource, purpose?: TrafficPurpose): Disposable;
}

/** Counts nothing. */
export const UNCOUNTED: TrafficFollower = { follow: () => ({ [Symbol.dispose]: () => undefined }) };
