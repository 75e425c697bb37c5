import type { ReportDelta } from "../../protocol/app-report.ts";
import type { DeviceEvent } from "../../protocol/deployment-event.ts";
import type { QueryKind } from "../../protocol/device-query.ts";
import type { EdgeError, ErrorCode } from "../../protocol/errors.ts";
import type { ControlFrame } from "../../protocol/frames.ts";

/** The first version of the protocol in which a device answers questions and tells of itself. */
export const MIN_REPORTING_PROTOCOL = 2;

/** A device that is connected right now. */
export interface DeviceSession {
  readonly id: string;
  readonly assetUuid: string;
  /** Rises with every session of every device: of two sessions of one device, the one with the higher number is the later. */
  readonly epoch: number;
  /** The version of the protocol both sides speak. */
  readonly protocol: number;
  /** Hands the frame to the connection; there is no telling whether it arrives. */
  send(frame: ControlFrame): void;
  /**
   * Asks the device something. Dispose of it when nobody waits for answers any more; the device is told, unless it has
   * answered to the end.
   */
  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable;
  /** Ends the session unless the device shows a sign of life soon. */
  checkLiveness(): void;
}

/** Who waits for the answers to a query. */
export interface QuerySink {
  /** One answer, not checked yet. The device is held back until it is dealt with. */
  answer(body: unknown): void | Promise<void>;
  /** Nothing follows. With an error the query was not answered, or not to its end. Called at most once. */
  end(error: EdgeError | undefined): void;
}

/** Who is connected. */
export interface DeviceDirectory {
  /** The device's live session, if it has one. */
  find(assetUuid: string): DeviceSession | undefined;
}

/** What devices say of themselves. Calls for one session come one after the other. */
export interface ReportHandler {
  /** The session stands. Answers the hash of the report that is held, for the device to go on from. */
  onHello(session: DeviceSession): Promise<string | undefined>;
  onReport(session: DeviceSession, change: ReportDelta): Promise<void>;
  /** The session ended and no other took its place. */
  onDisconnected(session: DeviceSession): void;
}

/** What devices say of deployments. Calls for one device come one after the other, but for `disconnected`. */
export interface DeploymentHandler {
  /**
   * The session stands. `held` are the deployments whose end the device has not seen acknowledged. Answers how many
   * unfinished ones of the device it has gone through.
   */
  onConnected(session: DeviceSession, held: readonly string[]): Promise<number>;
  /** The session ended, and what it still had to be dealt with is; no other has taken its place. */
  onDisconnected(session: DeviceSession): Promise<void>;
  onAck(session: DeviceSession, deploymentId: string): Promise<FrameOutcome>;
  /** The device could not even take the command; nothing of it will run. */
  onRefuse(session: DeviceSession, deploymentId: string, code: ErrorCode, message: string): Promise<FrameOutcome>;
  onEvent(session: DeviceSession, deploymentId: string, event: DeviceEvent): Promise<FrameOutcome>;
}

/** `foreign`: the deployment is not this device's. `unknown`: there is no record of it, which is no fault of the device. */
export type FrameOutcome = "taken" | "foreign" | "unknown";
