import type { IncomingMessage } from "node:http";
import type { Bound } from "../metrics/observer.ts";
import type { FoundDevice } from "../store/assets.ts";

/** How often one device may come, whether its token is valid or not. */
export interface DeviceRate {
  readonly burst: number;
  readonly perSecond: number;
  /** Counted when one comes more often. */
  readonly bound: Bound;
}

export interface AdmittedDevice {
  readonly device: FoundDevice;
  readonly tokenHash: Uint8Array;
}

export interface AdmissionRefusal {
  readonly refusal: { readonly code: "Unauthorized" | "TooManyRequests"; readonly message: string };
}

/** Lets devices in, by their token and by how often they come. */
export interface DeviceGate {
  /** Resolves when it is the turn of the device that has sent the request. */
  admit(request: IncomingMessage): Promise<AdmittedDevice | AdmissionRefusal>;
}
