import { type DeploymentEvent, type DeploymentStatus, isFinal } from "../../protocol/deployment-event.ts";
import type { DeployOptions } from "../../protocol/deploy-request.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
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
  readonly action: DeploymentAction;
  /**
   * Sent to the device: the app for a deployment, the changes for an update, `null` for other actions. The values of
   * `environments` are masked once the device has acknowledged the command, or the deployment has ended.
   */
  readonly spec: unknown;
  readonly options: RecordedOptions;
  /** Whether the request had registry credentials. These are kept in memory only, until the device has them. */
  readonly hasRegistryAuth: boolean;
  readonly status: DeploymentStatus;
  /** With `Fail`: the error code. */
  readonly code: ErrorCode | undefined;
  readonly createdAtMs: number;
  /** Without a final event by this time it fails with `DeploymentTimeout`. */
  readonly deadlineAtMs: number;
  /** When the device acknowledged the command. */
  readonly acknowledgedAtMs: number | undefined;
  /** The client waits for the device until then, if it is not connected; `undefined`: it does not wait. */
  readonly waitUntilMs: number | undefined;
  /** Whether it waits for the device now. */
  readonly isWaiting: boolean;
  /**
   * Since when the device should acknowledge the command, once it has waited or waits again for the device; otherwise
   * `undefined`: since `createdAtMs`.
   */
  readonly ackSinceMs: number | undefined;
  /** When cancellation was requested. */
  readonly cancelRequestedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** What the holder of the device's session has to bring to it; `undefined`: nothing. */
  readonly delivery: Delivery | undefined;
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
  /**
   * Set while the outcome has to be queried from the device. Until then the device is not told to undo anything. Kept when
   * the deployment ended without the device's report.
   */
  readonly uncertainty: OutcomeUncertainty | undefined;
  /** While it is `overdue` or `restored`: replaces `deadlineAtMs`. */
  readonly uncertainUntilMs: number | undefined;
  /** Size of its events as JSON in UTF-8. Counted by the store. */
  readonly eventBytes: number;
  /** Size of all deployments of its account in the store. Counted by the store. */
  readonly accountStoredBytes: number;
  /** Number of events left out because of the size limits. */
  readonly omittedEvents: number;
}

/** `command`: the device has not acknowledged it. `cancel`: the device must undo it, and has not confirmed that. */
export type Delivery = "command" | "cancel";

/** A deployment without its specification, which may be large, and without its last event. */
export type DeploymentSummary = Pick<
  Deployment,
  "id" | "assetUuid" | "status" | "code" | "acknowledgedAtMs" | "cancelRequestedAtMs" | "uncertainty"
>;

/**
 * Why the record may be behind the device. `asked`: the device was connected and did not hold the deployment. `overdue`:
 * a deadline passed while the service was down. `backup`: the record is a copy in a backup, taken before the end.
 * `restored`: the service has started with such a copy.
 */
export type OutcomeUncertainty = "asked" | "overdue" | "backup" | "restored";

/** A deployment of which something waits for its device. */
export type UndeliveredDeployment = DeploymentSummary & Pick<Deployment, "delivery" | "isWaiting" | "hasRegistryAuth">;

/** A change of a deployment. The event and the fields are stored in one transaction. */
export interface DeploymentChange {
  /** The next event, with its `seq`. */
  readonly event?: DeploymentEvent;
  readonly fields?: Partial<
    Pick<
      Deployment,
      | "spec"
      | "status"
      | "code"
      | "deadlineAtMs"
      | "acknowledgedAtMs"
      | "isWaiting"
      | "ackSinceMs"
      | "cancelRequestedAtMs"
      | "finishedAtMs"
      | "delivery"
      | "finishDueMs"
      | "replyDueMs"
      | "lastDeviceSeq"
      | "connection"
      | "uncertainty"
      | "uncertainUntilMs"
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
  "id" | "accountId" | "assetUuid" | "app" | "action" | "spec" | "options" | "hasRegistryAuth"
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
    status: "Running",
    code: undefined,
    createdAtMs: nowMs,
    deadlineAtMs: nowMs + timeoutMs,
    acknowledgedAtMs: undefined,
    waitUntilMs: waitMs === undefined ? undefined : nowMs + waitMs,
    isWaiting: false,
    ackSinceMs: undefined,
    cancelRequestedAtMs: undefined,
    finishedAtMs: undefined,
    delivery: undefined,
    finishDueMs: undefined,
    replyDueMs: undefined,
    holder: undefined,
    lastSeq: 0,
    lastDeviceSeq: 0,
    lastEvent: undefined,
    connection: NO_CONNECTION,
    uncertainty: undefined,
    uncertainUntilMs: undefined,
    eventBytes: 0,
    accountStoredBytes: 0,
    omittedEvents: 0,
  };
}

/** Whether the deployment has its final event. */
export function isFinished(deployment: Pick<Deployment, "status">): boolean {
  return isFinal(deployment);
}
