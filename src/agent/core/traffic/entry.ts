import type { TrafficPurpose } from "../../../protocol/link/data-usage.ts";
import type { NetworkKind } from "./network-kind.ts";
import type { Day } from "./day.ts";

/** Bytes sent and received. */
export interface Bytes {
  readonly sent: number;
  readonly received: number;
}

/** Traffic of one day for one purpose, app and deployment, over one kind of network. */
export interface TrafficEntry extends Bytes {
  readonly day: Day;
  readonly network: NetworkKind;
  readonly purpose: TrafficPurpose;
  /** Empty for no app. */
  readonly app: string;
  /** Empty for no deployment, or if the entry is so old that only the app is kept. */
  readonly deployment: string;
  /** Estimated overhead of TCP and IP. */
  readonly overhead: number;
}

/** Traffic of one interface on one day. */
export interface InterfaceEntry extends Bytes {
  readonly day: Day;
  readonly name: string;
}
