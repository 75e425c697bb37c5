import { type DeploymentEvent, type DeploymentStatus, isFinal } from "../../protocol/deployment-event.ts";
import type { DeployOptions } from "../../protocol/deploy-request.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import type { ErrorCode } from "../../protocol/errors.ts";

/** How it is to be carried out, as far as that is kept on record. */
export type RecordedOptions = Omit<DeployOptions, "registry_auth">;

/** A deployment as the control plane knows it. Times of day are Unix milliseconds. */
export interface Deployment {
  readonly id: string;
  /** 1 when it is created, and one more with each change. Of two copies, the one with the higher version is the later. */
  readonly version: number;
  readonly accountId: string;
  readonly assetUuid: string;
  readonly app: string;
  readonly action: DeploymentAction;
  /**
   * What the device is sent: the app for a deployment, what changes for an update, `null` for all else. Once it is not
   * needed for that any more, the values of `environments` are masked.
   */
  readonly spec: unknown;
  readonly options: RecordedOptions;
  /** Whether credentials for a registry came with the request. They are held in memory until the device has them. */
  readonly hasRegistryAuth: boolean;
  readonly status: DeploymentStatus;
  /** With `Fail`: what went wrong. */
  readonly code: ErrorCode | undefined;
  readonly createdAtMs: number;
  /** Without a final event by then it fails with `DeploymentTimeout`. */
  readonly deadlineAtMs: number;
  /** When the device said it holds the command. */
  readonly acknowledgedAtMs: number | undefined;
  /** When somebody asked for it to be cancelled. */
  readonly cancelRequestedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** `seq` of the last event, 0 before the first. */
  readonly lastSeq: number;
  /** Highest `device_seq` that is stored, 0 before the first. */
  readonly lastDeviceSeq: number;
  readonly lastEvent: DeploymentEvent | undefined;
  /**
   * Twice the number of the latest session of the device that counts for it, plus one once it was said that this session's
   * connection was lost; 0 before the first. What was decided on an earlier session changes nothing.
   */
  readonly connection: number;
  /**
   * Set while the device has to be asked what became of it. Until then it is told to undo nothing. Kept after an end that
   * was not the device's word.
   */
  readonly uncertainty: OutcomeUncertainty | undefined;
  /** While it is `overdue` or `restored`: until when its device is waited for, instead of `deadlineAtMs`. */
  readonly uncertainUntilMs: number | undefined;
  /** What its events take, as JSON in UTF-8. Counted by the store. */
  readonly eventBytes: number;
  /** What all deployments of its account take. Counted by the store. */
  readonly accountStoredBytes: number;
  /** How many events were left out for want of room. */
  readonly omittedEvents: number;
}

/** What is read of a deployment where its specification, which may be large, and its last event are not needed. */
export type DeploymentSummary = Pick<
  Deployment,
  "id" | "assetUuid" | "status" | "code" | "acknowledgedAtMs" | "cancelRequestedAtMs" | "uncertainty"
>;

/**
 * Why a device has to be asked what became of a deployment. `asked`: it was connected and did not hold it. `overdue`: its
 * time passed while the service was down. `backup`: it is the copy in a backup, taken while it was unfinished. `restored`:
 * the service has started with such a copy.
 */
export type OutcomeUncertainty = "asked" | "overdue" | "backup" | "restored";

/** What is to change about a deployment; the event and the fields are stored together or not at all. */
export interface DeploymentChange {
  /** The next event, already numbered. */
  readonly event?: DeploymentEvent;
  readonly fields?: Partial<
    Pick<
      Deployment,
      | "spec"
      | "status"
      | "code"
      | "deadlineAtMs"
      | "acknowledgedAtMs"
      | "cancelRequestedAtMs"
      | "finishedAtMs"
      | "lastDeviceSeq"
      | "connection"
      | "uncertainty"
      | "uncertainUntilMs"
      | "omittedEvents"
    >
  >;
}

/** What a new deployment is made of. */
export interface NewDeployment extends Pick<
  Deployment,
  "id" | "accountId" | "assetUuid" | "app" | "action" | "spec" | "options" | "hasRegistryAuth"
> {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** How long it may take in all, in milliseconds. */
  readonly timeoutMs: number;
}

/** A deployment that was just asked for. */
export function newDeployment({ nowMs, timeoutMs, ...given }: NewDeployment): Deployment {
  return {
    ...given,
    version: 1,
    status: "Running",
    code: undefined,
    createdAtMs: nowMs,
    deadlineAtMs: nowMs + timeoutMs,
    acknowledgedAtMs: undefined,
    cancelRequestedAtMs: undefined,
    finishedAtMs: undefined,
    lastSeq: 0,
    lastDeviceSeq: 0,
    lastEvent: undefined,
    connection: 0,
    uncertainty: undefined,
    uncertainUntilMs: undefined,
    eventBytes: 0,
    accountStoredBytes: 0,
    omittedEvents: 0,
  };
}

/** Whether it has had its final event. */
export function isFinished(deployment: Pick<Deployment, "status">): boolean {
  return isFinal(deployment);
}
