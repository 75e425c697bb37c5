import type { AppSpec } from "../../../protocol/app-spec.ts";
import type { DeployOptions } from "../../../protocol/deploy-request.ts";
import type { DeploymentAction } from "../../../protocol/deployment-action.ts";
import type { DeploymentStep } from "../../../protocol/deployment-event.ts";
import type { ErrorCode, ErrorDetails } from "../../../protocol/errors.ts";

/** Why a deployment does not succeed. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: ErrorDetails;
  /** The step it failed in. */
  readonly step: DeploymentStep;
}

/** What the agent remembers of a deployment, on disk before anything follows from it. */
export interface DeploymentRecord {
  readonly id: string;
  /** What is done to the app. Each is a deployment: with events, one end, and a way back. */
  readonly action: DeploymentAction;
  /** Rises with every deployment accepted. Who was first keeps a port or a name two ask for. */
  readonly order: number;
  /**
   * Who asked for it. What the control plane asked for is told to it event by event, and held until it has the end;
   * what was asked for on the device itself is nobody else's, and forgotten with its end.
   */
  readonly origin: "control_plane" | "local";
  /** The app's name, empty when the request was too broken to have one. */
  readonly app: string;
  /**
   * What the app is to be; for an update, the patch is merged in already, so that a crash changes nothing about it.
   * `undefined` when the request does not fit the schema; then `failure` says so.
   */
  readonly spec: AppSpec | undefined;
  /** The app as it was when the command was accepted: what a failure goes back to. `undefined` for a first deployment. */
  readonly previous: AppRecord | undefined;
  /** How it is to be carried out. Credentials are dropped once they are of no more use. */
  readonly options: DeployOptions;
  readonly outcome: "pending" | "succeeded" | "failed";
  /** Every check passed. */
  readonly checked: boolean;
  /** What the image's reference led to when its price was told: it is fetched from there, wherever a tag leads by now. */
  readonly digest: string | undefined;
  /** The image the app runs from, once it is on the machine. Until then no container of the deployment can exist. */
  readonly imageId: string | undefined;
  /** The container it made, once that is the app's; `undefined` in records of releases before. */
  readonly containerId?: string | undefined;
  /** The containers the app had before may have been changed: a failure has to put them right again. */
  readonly touched: boolean;
  /** The store holds what it came to as the app. */
  readonly committed: boolean;
  /** Set once the deployment cannot succeed any more; what is left is to undo it. */
  readonly failure: Failure | undefined;
  /** Why the app could not be brought back to what it was before. */
  readonly rollbackFailure: Failure | undefined;
}

/** A container of the agent as seen on the engine. */
export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  /** The deployment whose label it carries. */
  readonly deploymentId: string;
  readonly running: boolean;
  /** Running, or about to be again, or paused: it has to be stopped before another takes its place. */
  readonly up: boolean;
}

/** An app that was installed by a deployment that succeeded. */
export interface AppRecord {
  readonly name: string;
  /** The deployment or update it is the result of; its container carries it as a label. */
  readonly deploymentId: string;
  readonly spec: AppSpec;
  readonly imageId: string;
  /** What a registry calls the image, where it was asked: it can be fetched again exactly. */
  readonly digest?: string | undefined;
  readonly containerId: string;
  /** What it should be: an app that was stopped stays stopped, also over reboots. */
  readonly desired: "running" | "stopped";
  /** The stop, start or restart that made it so last; absent where there was none since its deployment. */
  readonly changedBy?: string | undefined;
  /** The image it ran from before its last update, kept so that one can go back to it. */
  readonly previousImageId: string | undefined;
  /** Found by its container's labels after the store was lost: whether its deployment had succeeded is not known. */
  readonly isAdopted?: true | undefined;
}

/** The record of an app that is to run, and was not updated yet. */
export function newApp(
  spec: AppSpec,
  found: Pick<AppRecord, "deploymentId" | "imageId" | "digest" | "containerId">,
): AppRecord {
  const { deploymentId, imageId, digest, containerId } = found;
  const image = { imageId, ...(digest !== undefined && { digest }) };
  return { name: spec.name, deploymentId, spec, ...image, containerId, desired: "running", previousImageId: undefined };
}

/**
 * The record with what has become of the app's container and image since the command was accepted: the app was repaired
 * meanwhile, or its image fetched again. What it goes back to must not be what is over.
 *
 * @param installed what the store holds as the app now
 */
export function withCurrentContainer(record: DeploymentRecord, installed: AppRecord | undefined): DeploymentRecord {
  const { previous } = record;
  if (!previous || installed?.deploymentId !== previous.deploymentId) return record;
  const { containerId, imageId, digest } = installed;
  if (containerId === previous.containerId && imageId === previous.imageId) return record;
  const keepsImage = record.imageId === previous.imageId;
  return {
    ...record,
    ...(keepsImage && { imageId }),
    previous: { ...previous, containerId, imageId, ...(digest !== undefined && { digest }) },
  };
}

/** The fields of a fresh record of a deployment the control plane asked for. */
export function newRecord(id: string, order: number, spec: AppSpec | undefined, failure?: Failure): DeploymentRecord {
  return {
    id,
    action: "deploy",
    order,
    origin: "control_plane",
    app: spec?.name ?? "",
    spec,
    previous: undefined,
    options: {},
    outcome: "pending",
    checked: false,
    digest: undefined,
    imageId: undefined,
    touched: false,
    committed: false,
    failure,
    rollbackFailure: undefined,
  };
}

/** The record without credentials that are not needed any more: the image is there, or will not be fetched. */
export function withoutSpentCredentials(record: DeploymentRecord): DeploymentRecord {
  const { registry_auth: auth, ...options } = record.options;
  const isNeeded = record.imageId === undefined && record.outcome === "pending" && !record.failure;
  return auth === undefined || isNeeded ? record : { ...record, options };
}
