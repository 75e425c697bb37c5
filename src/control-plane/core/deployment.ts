import type { DeploymentEvent, DeploymentStatus } from "../../protocol/deployments/deployment-event.ts";
import type { DeployOptions } from "../../protocol/apps/deploy-request.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { Command } from "./command.ts";
import { type Connection, NO_CONNECTION } from "./connection.ts";

/** The options that are stored: all except credentials. */
export type RecordedOptions = Omit<DeployOptions, "registry_auth">;

/** The record of a deployment. Times of day are Unix milliseconds. */
export interface Deployment {
  readonly id: string;
  /** 1 at creation, incremented with each change. Of two copies, the one with the higher version is newer. */
  readonly version: number;
  readonly accountId: string;
  readonly assetUuid: string;
  readonly app: string;
  /** Masked (`maskCommand`) once the device has acknowledged it, or the deployment has ended. */
  readonly command: Command;
  readonly options: RecordedOptions;
  /** Whether the request had registry credentials. These are kept in memory only, until the device has them. */
  readonly hasRegistryAuth: boolean;
  readonly state: DeploymentState;
  readonly createdAtMs: number;
  /** Without a final event by this time it fails with `DeploymentTimeout`. */
  readonly deadlineAtMs: number;
  /** The client waits for the device until then, if it is not connected; `undefined`: it does not wait. */
  readonly waitUntilMs: number | undefined;
  /** When cancellation was requested. */
  readonly cancelRequestedAtMs: number | undefined;
  /** When the deadline for its end expires, in service time (`ServiceClock`); `undefined` when it has ended. */
  readonly finishDueMs: number | undefined;
  /** When the device must have replied to the command or the cancellation, in service time. */
  readonly replyDueMs: number | undefined;
  /** The instance that holds the device's session; `undefined` while it is not connected. Read with the deployment. */
  readonly holder: string | undefined;
  /** `seq` of the last event, 0 before the first. */
  readonly lastSeq: number;
  /** Highest `device_seq` that is stored, 0 before the first. */
  readonly lastDeviceSeq: number;
  readonly lastEvent: DeploymentEvent | undefined;
  /** Decisions that are based on an earlier one change nothing. */
  readonly connection: Connection;
  /** Size of its events as JSON in UTF-8. Counted by the store. */
  readonly eventBytes: number;
  /** Size of all deployments of its account in the store. Counted by the store. */
  readonly accountStoredBytes: number;
  /** Number of events left out because of the size limits. */
  readonly omittedEvents: number;
}

/** Where a deployment stands. */
export type DeploymentState = OpenState | Ended;

/** Where a deployment without a final event stands. */
export type OpenState = Progress | Uncertain;

/** How far the command has come. */
export type Progress = Waiting | Sending | Acknowledged;

/** Its client waits for the device. */
export interface Waiting {
  readonly kind: "waiting";
  /** Since when it was to be sent before it waited again, so that the device may have it; `undefined`: it has only waited. */
  readonly sendingSinceMs: number | undefined;
}

/**
 * The command is due: the instance that holds the device's session sends it, or has sent it. The device has not acknowledged it.
 */
export interface Sending {
  readonly kind: "sending";
  /** Since the request, or since the wait for its device has ended. The time to acknowledge it runs from here. */
  readonly sendingSinceMs: number;
}

/** The device has stored the command. */
export interface Acknowledged {
  readonly kind: "acknowledged";
  readonly acknowledgedAtMs: number;
  readonly sendingSinceMs: number;
}

/**
 * The record may be behind the device, which has to be queried for the outcome. Until it has answered, it is not told to undo
 * anything.
 */
export type Uncertain = UncertainFor<"asked" | "backup"> | (UncertainFor<"overdue" | "restored"> & UncertainUntil);

interface UncertainFor<U extends Uncertainty> {
  readonly kind: "uncertain";
  readonly uncertainty: U;
  /** How far the command had come. */
  readonly progress: Progress;
}

interface UncertainUntil {
  /** Replaces `deadlineAtMs`. */
  readonly untilMs: number;
}

/**
 * Why the record may be behind the device. `asked`: the device was connected and did not hold the deployment. `overdue`:
 * a deadline passed while the service was down. `backup`: the record is a copy in a backup, taken before the end.
 * `restored`: the service has started with such a copy.
 */
export type Uncertainty = "asked" | "overdue" | "backup" | "restored";

/** The deployment has its final event. */
export type Ended = Succeeded | Failed;

interface Succeeded {
  readonly kind: "ended";
  readonly status: "Success";
  readonly finishedAtMs: number;
  /** How far the command had come. */
  readonly progress: Progress;
}

export interface Failed {
  readonly kind: "ended";
  readonly status: "Fail";
  readonly code: ErrorCode | undefined;
  readonly finishedAtMs: number;
  /** How far the command had come. */
  readonly progress: Progress;
  /**
   * What is open with its device. `undo`: the device must undo it, and has not confirmed that. An uncertainty: it ended
   * without the device's report. `undefined`: nothing.
   */
  readonly unsettled: "undo" | Uncertainty | undefined;
}

/** A deployment without its specification, which may be large, and without its last event. */
export type DeploymentSummary = Pick<Deployment, "id" | "assetUuid" | "state" | "cancelRequestedAtMs">;

/** A deployment of which something waits for its device. */
export type UndeliveredDeployment = DeploymentSummary & Pick<Deployment, "hasRegistryAuth">;

/** A change of a deployment. The event and the fields are stored in one transaction. */
export interface DeploymentChange {
  /** The next event, with its `seq`. */
  readonly event?: DeploymentEvent;
  readonly fields?: Partial<
    Pick<
      Deployment,
      | "command"
      | "state"
      | "deadlineAtMs"
      | "cancelRequestedAtMs"
      | "finishDueMs"
      | "replyDueMs"
      | "lastDeviceSeq"
      | "connection"
      | "omittedEvents"
    >
  >;
}

/** An event in its stored form. */
export interface StoredEvent {
  readonly seq: number;
  /** One `DeploymentEvent` in JSON. */
  readonly json: string;
}

/** The properties of a new deployment. */
export interface NewDeployment extends Pick<
  Deployment,
  "id" | "accountId" | "assetUuid" | "app" | "command" | "options" | "hasRegistryAuth"
> {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Time until it must have ended, in milliseconds. */
  readonly timeoutMs: number;
  /** How long to wait for a device that is not connected, in milliseconds. */
  readonly waitMs?: number | undefined;
}

/** Returns the record of a new deployment, without events. */
export function newDeployment({ nowMs, timeoutMs, waitMs, ...given }: NewDeployment): Deployment {
  return {
    ...given,
    version: 1,
    state: { kind: "sending", sendingSinceMs: nowMs },
    createdAtMs: nowMs,
    deadlineAtMs: nowMs + timeoutMs,
    waitUntilMs: waitMs === undefined ? undefined : nowMs + waitMs,
    cancelRequestedAtMs: undefined,
    finishDueMs: undefined,
    replyDueMs: undefined,
    holder: undefined,
    lastSeq: 0,
    lastDeviceSeq: 0,
    lastEvent: undefined,
    connection: NO_CONNECTION,
    eventBytes: 0,
    accountStoredBytes: 0,
    omittedEvents: 0,
  };
}

type Stateful = Pick<Deployment, "state">;

/** Whether the deployment has its final event. */
export function isFinished({ state }: Stateful): boolean {
  return state.kind === "ended";
}

/** Returns `Running`, or how it ended. */
export function statusOf({ state }: Stateful): DeploymentStatus {
  return state.kind === "ended" ? state.status : "Running";
}

/** Returns the error code of a deployment that has failed. */
export function codeOf({ state }: Stateful): ErrorCode | undefined {
  return state.kind === "ended" && state.status === "Fail" ? state.code : undefined;
}

/** Returns when it ended; `undefined` while it is running. */
export function finishedAtMsOf({ state }: Stateful): number | undefined {
  return state.kind === "ended" ? state.finishedAtMs : undefined;
}

/** Returns how far the command has come, or had come when the deployment became uncertain or ended. */
export function progressOf({ state }: Stateful): Progress {
  return state.kind === "ended" || state.kind === "uncertain" ? state.progress : state;
}

/** Returns when the device acknowledged the command; `undefined`: it has not. */
export function acknowledgedAtMsOf(deployment: Stateful): number | undefined {
  const progress = progressOf(deployment);
  return progress.kind === "acknowledged" ? progress.acknowledgedAtMs : undefined;
}

/** Returns why the outcome has to be queried from the device, also after the end; `undefined`: it has not. */
export function uncertaintyOf({ state }: Stateful): Uncertainty | undefined {
  if (state.kind === "uncertain") return state.uncertainty;
  return state.kind === "ended" && state.status === "Fail" && state.unsettled !== "undo" ? state.unsettled : undefined;
}

/** Whether the device cannot have it: it has only waited since the request. */
export function wasNeverSent(progress: Progress): boolean {
  return progress.kind === "waiting" && progress.sendingSinceMs === undefined;
}

/** Returns an open state in which the command has come this far. */
export function withProgress(state: OpenState, progress: Progress): OpenState {
  return state.kind === "uncertain" ? { ...state, progress } : progress;
}
