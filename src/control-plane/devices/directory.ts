import type { DeviceSession } from "./session.ts";

/** The devices that are connected to this instance. */
export interface DeviceDirectory {
  /** Returns the device's current session, if it has one here. */
  find(assetUuid: string): DeviceSession | undefined;
}
