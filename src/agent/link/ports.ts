import type { BackoffOptions } from "../../lib/backoff.ts";
import type { DeployOptions } from "../../protocol/apps/deploy-request.ts";
import type { ReportDelta } from "../../protocol/apps/app-report.ts";
import type { ChangeRequest } from "../core/deployment/accept.ts";
import type { CancelReason } from "../core/deployment/cancelled.ts";
import type { ControlFrame } from "../../protocol/link/frames.ts";
import type { HealthMessageWriter } from "../../protocol/link/health-message.ts";
import type { HealthThresholds } from "../../protocol/link/health-thresholds.ts";
import type { ControlStreamFrame, DeviceStreamFrame } from "../../protocol/link/streams.ts";
import type { ClockWatch } from "./clock-watch.ts";
import type { FrameCounts } from "./frame-meter.ts";

export type Welcome = Extract<ControlFrame, { type: "welcome" }>;

export interface LinkConfig {
  /** Address of the control plane, `wss:` or `ws:`. */
  readonly url: string;
  readonly token: string;
  /** Id of the current boot, which tells this device from another one with its token. */
  readonly bootId?: string | undefined;
  /** Certificates to trust in addition to the built-in and the system's, as PEM text. */
  readonly extraCa?: string | undefined;
  /** Silence after which the link is probed, in milliseconds. */
  readonly keepaliveMs: number;
  /** Timeout of a probe, in milliseconds. */
  readonly pongTimeoutMs: number;
  /** Delays between attempts after ordinary failures. */
  readonly backoff: BackoffOptions;
}

/** The state of the link for people. Times are monotonic milliseconds of the agent's clock. */
export interface LinkStatus {
  readonly state: "connecting" | "online" | "waiting" | "stopped";
  /** When it entered this state. */
  readonly sinceMs: number;
  /** How the last failed attempt or session ended. */
  readonly lastError: { readonly reason: string; readonly atMs: number } | undefined;
  /** While `waiting`: time of the next attempt. */
  readonly nextTryAtMs: number | undefined;
  /** The asset that the control plane named in the last session. */
  readonly asset: Welcome["asset"] | undefined;
  /** Sessions after the first. */
  readonly reconnects: number;
  readonly frames: FrameCounts;
}

/** Receives commands from the link. */
export interface CommandHandler {
  /**
   * Returns once the command is on disk; it may then be acknowledged. Idempotent. Throws an `EdgeError` if the command
   * is rejected, which is reported to the control plane; any other error only leaves it unacknowledged.
   */
  deploy(deploymentId: string, spec: unknown, options?: DeployOptions): void;
  /**
   * Returns once the command to change an installed app is on disk. Idempotent. Throws like `deploy`.
   */
  change(deploymentId: string, request: ChangeRequest): void;
  /** Returns once the group of apps is on disk. Idempotent. Throws like `deploy`. */
  apply(deploymentId: string, request: unknown, options?: DeployOptions): void;
  /** Returns once the update of the agent itself is on disk. Idempotent. Throws like `deploy`. */
  updateAgent(deploymentId: string, request: unknown, options?: DeployOptions): void;
  /** Returns once the cancel is on disk. Ignores an unknown deployment. */
  cancel(deploymentId: string, reason: CancelReason): void;
  /** Returns the deployments whose final event is not acknowledged yet, for `hello`. */
  openDeployments(): readonly string[];
}

/** A query of the control plane. */
export interface DeviceQuery {
  readonly what: string;
  readonly params: unknown;
  /** Sends one answer; resolves with its size in bytes once it is sent. Await it, so that answers do not fill a slow link. */
  readonly send: (body: unknown) => Promise<number>;
  /** Aborts when the query is cancelled or the session ends. */
  readonly signal: AbortSignal;
}

/** Receives queries from the link. */
export interface QueryHandler {
  /** Resolves after the last answer, optionally with a remark for the user. Rejects with `EdgeError`. */
  handle(query: DeviceQuery): Promise<string | undefined>;
}

/** The reports that the link sends. */
export interface ReportSource {
  /**
   * Returns the difference to the report with this hash, or the complete report if that one is not known (any more).
   * `undefined` if nothing changed or there is no report yet.
   */
  since(hash: string | undefined): ReportDelta | undefined;
  /** Seconds for which the last report has been out of date because changes are held back; `undefined` if it is current. */
  outdatedForS(): number | undefined;
  /** Calls `listener` when there is a new report, or changes begin or cease to be held back, until disposed. */
  onReport(listener: () => void): Disposable;
}

/** A binary message with how the device was. */
export interface HealthMessage {
  readonly bytes: Uint8Array;
  /** Start of its newest row, Unix seconds. */
  readonly newestAt: number;
}

/** How the device was, which the link sends from time to time. */
export interface HealthSource {
  /**
   * A session has begun.
   *
   * @param confirmedAt start of the newest row that the control plane has, Unix seconds
   * @param thresholds what is sent before its time when it begins or ceases to be exceeded; `undefined`: the defaults
   */
  begin(confirmedAt: number | undefined, thresholds: HealthThresholds | undefined): void;
  /** The control plane says other thresholds. */
  setThresholds(thresholds: HealthThresholds | undefined): void;
  /** When the next message may be sent beside other traffic, and when without any, in monotonic milliseconds. */
  readonly due: { readonly earliestMs: number; readonly latestMs: number };
  /**
   * Returns the message that is due, with the rows after this time, and moves on to the next; `undefined` if there are none.
   *
   * @param afterAt start of the newest row that was sent in this session, or that the control plane has, Unix seconds
   * @param writer that of the session
   */
  take(afterAt: number | undefined, writer: HealthMessageWriter): HealthMessage | undefined;
  /** Calls `listener` when a message has become due before its time, until disposed. */
  onEarly(listener: () => void): Disposable;
}

/** What the link sends besides events of deployments. */
export interface DeviceReporting {
  readonly queries: QueryHandler;
  readonly reports: ReportSource;
  /** Left out, nothing is sent of how the device was. */
  readonly health?: HealthSource | undefined;
  /** Told the control plane's time; left out, no clock is compared. */
  readonly clockWatch?: Pick<ClockWatch, "elapsed" | "onServiceTime"> | undefined;
}

/** The part of a session that its streams use. */
export interface StreamConnection {
  /** Bytes that the system has not taken yet, of all that was sent in the session. */
  readonly bufferedAmount: number;
  sendFrame(frame: DeviceStreamFrame): void;
  sendData(message: Uint8Array): void;
}

/** The streams of one session; disposing closes them. Never throws. */
export interface SessionStreams extends Disposable {
  /** Returns false if the frame is out of order. */
  onFrame(frame: ControlStreamFrame): boolean;
  /** Returns false if the message is not valid. */
  onData(message: Uint8Array): boolean;
  /** The system has taken a message of the session. */
  onSent(): void;
}

/** Serves streams to apps. */
export interface StreamServer {
  /** Begins with the streams of a new session. Called when the first of them is opened. */
  begin(connection: StreamConnection): SessionStreams;
}
