import type { DeviceEvent } from "../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import type { ControlFrame } from "../../protocol/frames.ts";

/** A device that is connected right now. */
export interface DeviceSession {
  readonly id: string;
  readonly assetUuid: string;
  /** Hands the frame to the connection; there is no telling whether it arrives. */
  send(frame: ControlFrame): void;
  /** Ends the session unless the device shows a sign of life soon. */
  probe(): void;
}

/** Who is connected. */
export interface DeviceDirectory {
  /** The device's live session, if it has one. */
  find(assetUuid: string): DeviceSession | undefined;
}

/** What devices say. Calls for one session come one after the other. */
export interface DeviceHandler {
  /** The session stands. `held` are the deployments whose end the device has not seen acknowledged. */
  connected(session: DeviceSession, held: readonly string[]): Promise<void>;
  /** The session ended and no other took its place. */
  disconnected(session: DeviceSession): Promise<void>;
  acknowledged(session: DeviceSession, deploymentId: string): Promise<Verdict>;
  /** The device could not even take the command; nothing of it will run. */
  refused(session: DeviceSession, deploymentId: string, code: ErrorCode, message: string): Promise<Verdict>;
  event(session: DeviceSession, deploymentId: string, event: DeviceEvent): Promise<Verdict>;
}

/** `foreign`: this device has no such deployment. */
export type Verdict = "taken" | "foreign";
