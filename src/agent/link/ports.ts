import type { BackoffOptions } from "../../lib/backoff.ts";
import type { DeployOptions } from "../../protocol/deploy-options.ts";
import type { ReportDelta } from "../../protocol/app-report.ts";
import type { ChangeRequest } from "../core/deployment/accept.ts";
import type { ControlFrame } from "../../protocol/frames.ts";
import type { FrameCounts } from "./frame-meter.ts";

export type Welcome = Extract<ControlFrame, { type: "welcome" }>;
type CancelReason = Extract<ControlFrame, { type: "cancel" }>["reason"];

export interface LinkConfig {
  /** Address of the control plane, `wss:` or `ws:`. */
  readonly url: string;
  readonly token: string;
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

/** What the link hands commands to. */
export interface CommandHandler {
  /**
   * Returns once the command is on disk; then it may be acknowledged. A command already held is no error. Throws an
   * `EdgeError` when it cannot be taken and the control plane should be told, anything else when nobody can tell.
   */
  deploy(deploymentId: string, spec: unknown, options?: DeployOptions): void;
  /**
   * Returns once the command to change an app that is there is on disk. A command already held is no error. Throws like
   * `deploy`.
   */
  change(deploymentId: string, request: ChangeRequest): void;
  /** Returns once the wish is on disk. A deployment that is not held is no error. */
  cancel(deploymentId: string, reason: CancelReason): void;
  /** Deployments whose end was not acknowledged yet, for `hello`. */
  openDeployments(): readonly string[];
}

/** A question of the control plane. */
export interface DeviceQuery {
  readonly what: string;
  readonly params: unknown;
  /** Sends one answer; resolves with its bytes when it has left. Wait for it: that is what keeps a slow line free. */
  readonly send: (body: unknown) => Promise<number>;
  /** Aborted when nobody waits for answers any more, or the session is over. */
  readonly signal: AbortSignal;
}

/** What the link hands queries to. */
export interface QueryHandler {
  /** Resolves when no more answers follow, with a remark for whoever asked where there is one. Throws `EdgeError`. */
  handle(question: DeviceQuery): Promise<string | undefined>;
}

/** Where the link takes the device's report from. */
export interface ReportSource {
  /**
   * What changed since the report of this hash; complete where that is not known (any more). `undefined` where nothing
   * did, or there is no report yet.
   */
  since(hash: string | undefined): ReportDelta | undefined;
  /** Calls `listener` when there is a new report, until disposed. */
  onReport(listener: () => void): Disposable;
}

/** What an agent tells of itself, beside the events of deployments. */
export interface DeviceReporting {
  readonly queries: QueryHandler;
  readonly reports: ReportSource;
}
