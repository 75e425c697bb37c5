import type { WebSocket } from "ws";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Asset } from "../../core/asset.ts";
import type {
  DeliveryHandler,
  DeploymentHandler,
  FrameOutcome,
  HealthHandler,
  ReportHandler,
  ThresholdSource,
} from "../handlers.ts";
import type { Observer } from "../../metrics/observer.ts";
import type { FrameRateLimiter } from "./frame-rate-limiter.ts";
import type { AgentFrame } from "../../../protocol/link/frames.ts";
import type { ProtocolVersions } from "../../../protocol/version.ts";
import type { HubSession } from "./session.ts";

export type DeploymentFrame = Extract<AgentFrame, { type: "ack" | "refuse" | "event" }>;
export type Hello = Extract<AgentFrame, { type: "hello" }>;

/** Receives what devices send about each topic. */
export interface SessionHandlers {
  readonly deploymentHandler: DeploymentHandler;
  readonly delivery: DeliveryHandler;
  readonly reportHandler: ReportHandler;
  readonly healthHandler: HealthHandler;
  readonly thresholds: ThresholdSource;
}

/** The current session of each device. */
export interface CurrentSessions {
  /**
   * Makes this the device's current session and sets its epoch: after the hello, before the welcome. Returns `undefined` if
   * the session is over by then.
   */
  readonly becomeCurrent: (
    session: HubSession,
    hello: Pick<Hello, "protocol" | "agent_version">,
  ) => Promise<CurrentSession | undefined>;
  readonly onClosed: (session: HubSession) => void;
  /** Whether this is still the device's current session. */
  readonly isCurrent: (session: HubSession) => boolean;
  /** A write was refused, since a later session has replaced this one or the asset was removed. */
  readonly onStale: (session: HubSession) => Promise<void>;
}

/** What all sessions share: one object, whatever their number. */
export interface SessionHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer?: Observer | undefined;
  /** Default: those of this program. */
  readonly protocols?: ProtocolVersions | undefined;
  readonly frameRateLimiter: FrameRateLimiter;
  readonly handlers: SessionHandlers;
  readonly current: CurrentSessions;
}

export interface DeviceConnection {
  readonly id: string;
  readonly socket: WebSocket;
  readonly asset: Asset;
}

export interface CurrentSession {
  /** Resolves when the frames of the device's earlier sessions are handled. */
  readonly earlierSessionsIdle: Promise<void> | undefined;
  /** Hash of the stored report, on which the device bases its next delta. */
  readonly reportHash: string | undefined;
  /** Start of the newest row on record of how the device was. */
  readonly healthAt: number | undefined;
  /** Whether the device has deployments on record that what it holds has to be compared with. */
  readonly mustReconcile: boolean;
}

/** Passes on a frame about a deployment. */
export function handleDeploymentFrame(
  { deploymentHandler: handler }: SessionHandlers,
  session: HubSession,
  frame: DeploymentFrame,
): Promise<FrameOutcome> {
  switch (frame.type) {
    case "ack":
      return handler.onAck(session, frame.deployment_id);
    case "refuse":
      return handler.onRefuse(session, frame.deployment_id, frame.code, frame.message);
    case "event":
      return handler.onEvent(session, frame.deployment_id, frame.event);
  }
}
