import type { TrafficPurpose } from "../../../protocol/data-usage.ts";
import type { NetworkKind } from "./network-kind.ts";
import type { Day } from "./day.ts";

/** Bytes in both directions. */
export interface Bytes {
  readonly sent: number;
  readonly received: number;
}

/** What was counted on one day for one purpose, app and deployment, over one kind of network. */
export interface TrafficEntry extends Bytes {
  readonly day: Day;
  readonly network: NetworkKind;
  readonly purpose: TrafficPurpose;
  /** Empty where it was for none. */
  readonly app: string;
  /** Empty where it was for none, or so long ago that only the app is still known. */
  readonly deployment: string;
  /** What TCP and IP added, an estimate. */
  readonly overhead: number;
}

/** What one interface carried on one day. */
export interface InterfaceEntry extends Bytes {
  readonly day: Day;
  readonly name: string;
}
