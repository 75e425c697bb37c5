import type { DeployOptions } from "../../protocol/deploy-request.ts";
import type { ReportDelta } from "../../protocol/app-report.ts";
import type { DeviceEvent } from "../../protocol/deployment-event.ts";
import type { ChangeRequest } from "../core/deployment/accept.ts";
import type { ControlFrame } from "../../protocol/frames.ts";

type CancelReason = Extract<ControlFrame, { type: "cancel" }>["reason"];

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

export interface OutboxEvent {
  /** Place in the outbox; rises with every event added. */
  readonly position: number;
  readonly deploymentId: string;
  readonly event: DeviceEvent;
}

/** Bytes that went over a connection so far, and in how many messages. */
export type TrafficSource = () => { readonly sent: number; readonly received: number; readonly messages: number };

/** What counts the bytes of the link's connections. */
export interface TrafficFollower {
  /** Counts what goes over a connection until disposed, and what setting it up costs. */
  follow(source: TrafficSource): Disposable;
}

/** Counts nothing. */
export const UNCOUNTED: TrafficFollower = { follow: () => ({ [Symbol.dispose]: () => undefined }) };

/** Where the link takes events from. Every event in it is on disk. */
export interface EventSource {
  /** Events after `position` (0 for all) that were not acknowledged, in order, at most `limit`. */
  pendingEvents(position: number, limit: number): readonly OutboxEvent[];
  /** The control plane holds all events of this deployment up to `deviceSeq`. */
  acknowledge(deploymentId: string, deviceSeq: number): void;
  /** Calls `listener` after events were added, until disposed. */
  onEvents(listener: () => void): Disposable;
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
