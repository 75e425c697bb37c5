import type { ReportDelta } from "../../protocol/apps/app-report.ts";
import type { DeviceEvent } from "../../protocol/deployments/deployment-event.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { HealthReport } from "../../protocol/link/health-message.ts";
import type { HealthThresholds } from "../../protocol/link/health-thresholds.ts";
import type { Asset } from "../core/asset.ts";
import type { DeviceSession } from "./session.ts";

/** Receives the reports of devices from the hub. Calls for one session do not overlap. */
export interface ReportHandler {
  onReport(session: DeviceSession, delta: ReportDelta): Promise<void>;
  /** The device's report has been out of date for these seconds, since changes are held back; `null`: it is current. */
  onReportHeld(session: DeviceSession, heldForS: number | null): Promise<void>;
}

/** Receives what devices send of how they were. */
export interface HealthHandler {
  /** @param report rows at different times, in order; which times, the device says */
  onHealth(session: DeviceSession, report: HealthReport): Promise<void>;
}

/** Knows what a device is to send at once of how it is. */
export interface ThresholdSource {
  /** Returns what differs from the device's defaults; `undefined`: nothing does. */
  thresholdsOf(asset: Pick<Asset, "uuid" | "accountId" | "name" | "type">): Promise<HealthThresholds | undefined>;
}

/** Brings to devices what waits for them. Error: `StaleSessionError`. */
export interface DeliveryHandler {
  /**
   * Something may wait for the device. Called once the session is reconciled, and whenever this instance was woken for the
   * device since.
   */
  deliver(session: DeviceSession): Promise<void>;
  /**
   * The device's access was revoked, such as with its asset: it is told what it must undo, and gets no commands. Called before
   * its connection is closed.
   */
  deliverCancellations(session: DeviceSession): Promise<void>;
}

/**
 * Receives the frames about deployments from the hub. Calls for one device do not overlap, except `onDisconnected`. Each may
 * throw `StaleSessionError`: another session of the device has replaced this one.
 */
export interface DeploymentHandler {
  /**
   * The device was welcomed.
   *
   * @param held ids of the deployments whose final event the device has not seen acknowledged
   * @returns the number of the device's unfinished deployments that were reconciled
   */
  onConnected(session: DeviceSession, held: readonly string[]): Promise<number>;
  /** The session ended, its remaining frames are handled, and no other session has replaced it. */
  onDisconnected(session: Pick<DeviceSession, "assetUuid" | "epoch">): Promise<void>;
  onAck(session: DeviceSession, deploymentId: string): Promise<FrameOutcome>;
  /** The device could not store the command, and will not run any of it. */
  onRefuse(session: DeviceSession, deploymentId: string, code: ErrorCode, message: string): Promise<FrameOutcome>;
  onEvent(session: DeviceSession, deploymentId: string, event: DeviceEvent): Promise<FrameOutcome>;
}

/**
 * `foreign`: the deployment belongs to another device, a fault of the sender. `unknown`: there is no record of the
 * deployment, which is not a fault.
 */
export type FrameOutcome = "taken" | "foreign" | "unknown";
