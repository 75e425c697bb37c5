import type { AgentUpdate } from "../../protocol/agents/agent-update.ts";
import type { AppChange } from "../../protocol/apps/app-change.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { Apply, AppDependency } from "../../protocol/apps/apply.ts";
import type { DeployOptions } from "../../protocol/apps/deploy-request.ts";
import type { DeploymentAction } from "../../protocol/deployments/deployment-action.ts";
import type { DeploymentStep } from "../../protocol/deployments/deployment-event.ts";
import type { ErrorCode, ErrorDetails } from "../../protocol/errors/errors.ts";

/** Why a deployment does not succeed. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: ErrorDetails;
  /** The step it failed in. */
  readonly step: DeploymentStep;
}

/** The stored state of a deployment. On disk before any step depends on it. */
export interface DeploymentRecord {
  readonly id: string;
  /** What is done to the app. Every action has events, one final event and a rollback. */
  readonly action: DeploymentAction;
  /** Rises with every accepted deployment. Of two that need the same port or name, the lower one keeps it. */
  readonly order: number;
  /**
   * Who requested it. Events of the control plane's deployments are sent to it, and the record is kept until it has
   * acknowledged the final one; a local deployment is forgotten when it ends.
   */
  readonly origin: "control_plane" | "local";
  /** The app's name, or the project's of an apply; empty when the request had no valid one. */
  readonly app: string;
  /**
   * The requested specification; for an update, with the patch merged in. `undefined` when the request does not match
   * the schema; then `failure` is set.
   */
  readonly spec: AppSpec | undefined;
  /** The app when the command was accepted, which a rollback restores. `undefined` for a first deployment. */
  readonly previous: AppRecord | undefined;
  /** Options of the request. Credentials are dropped once they are not needed any more. */
  readonly options: DeployOptions;
  readonly outcome: "pending" | "succeeded" | "failed";
  /** Every check passed. */
  readonly checked: boolean;
  /** The digest for which the cost was reported: it is pulled, wherever a tag points now. */
  readonly digest: string | undefined;
  /** Contents of files that the device did not have when the command was accepted; absent once they are there. */
  readonly fetches?: readonly FileFetch[] | undefined;
  /** The image the app runs from, once it is on the device. Until then no container of the deployment can exist. */
  readonly imageId: string | undefined;
  /** The container it created, once that is the app's. */
  readonly containerId?: string | undefined;
  /** The app's containers may have been changed, so a failure has to restore them. */
  readonly touched: boolean;
  /** The deployment's result is the stored app. */
  readonly committed: boolean;
  /** Set once the deployment cannot succeed any more; what remains is the rollback. */
  readonly failure: Failure | undefined;
  /** Why the rollback failed. */
  readonly rollbackFailure: Failure | undefined;
  /** Directories it made on the device for volumes. They stay, also after a failure: the app may have written there. */
  readonly madeDirectories?: readonly string[];
  /** With action `apply`: how the group is carried out. Its apps have records of their own, with `group`. */
  readonly apply?: ApplySettings;
  /** With action `update_agent`: the release, and how far it has come. */
  readonly agentUpdate?: AgentUpdateState;
  /** Set in the deployment of one app of a group. Its events are the group's, and it is forgotten with it. */
  readonly group?: GroupMembership;
  /** In the deployment of one app of a group: which success it was. */
  readonly result?: SuccessKind;
  /** Names of the volumes it made, which stay in the same way. */
  readonly madeVolumes?: readonly string[];
  /** Containers that it was to remove and could not: they do not run, and the reconciler tries again. */
  readonly leftBehind?: readonly LeftContainer[];
}

export interface LeftContainer {
  readonly id: string;
  readonly name: string;
}

/** The content of a file that has to be fetched from the service. */
export interface FileFetch {
  /** Hash of the content, hex, under which it is stored. */
  readonly sha256: string;
  /** Its bytes, unpacked. */
  readonly size: number;
  readonly upload: { readonly sha256: string; readonly bytes: number };
}

/** An update of the agent. The version on trial and the one before carry it on, by what this says. */
export interface AgentUpdateState extends AgentUpdate {
  /** Set before the updater is asked. */
  readonly handedOver?: {
    /** Id of the request to the updater. */
    readonly request: string;
    readonly version: string;
    /** The number of the trial that was seen; 0 before the first. */
    readonly attempt: number;
  };
  /** The store that had this record was lost meanwhile; it was made anew from what root has noted. */
  readonly isStoreLost?: true;
}

export interface ApplySettings extends Pick<Apply, "expect" | "fleet"> {
  readonly onFailure: Apply["on_failure"];
}

export interface GroupMembership {
  /** Id of the deployment with action `apply`. */
  readonly id: string;
  /** What must have happened to other apps of the group before this one is changed. */
  readonly dependsOn: readonly AppDependency[];
  /** Others wait for it to end without an error. */
  readonly mustComplete?: true;
}

/** Which success is reported. */
export type SuccessKind = "installed" | "updated" | "unchanged" | "removed" | "stopped" | "started" | "restarted";

/** A container of the agent as the engine lists it. */
export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  /** The deployment whose label it carries. */
  readonly deploymentId: string;
  readonly running: boolean;
  /** It has to be stopped before another one replaces it: see `decisionOn`. */
  readonly up: boolean;
  /** Only its removal is left: see `decisionOn`. */
  readonly isLeftover?: boolean;
}

/** The fleet's revision that an app was last applied with. */
export interface FleetMark {
  readonly name: string;
  readonly revision: number;
  /** The deployment with action `apply`. */
  readonly deploymentId: string;
  /** Whether the app's specification or image was changed since by something else. */
  readonly isChanged: boolean;
}

/** An installed app: the result of a successful deployment. */
export interface AppRecord {
  readonly name: string;
  /** The deployment or update that installed it; a label of its container. */
  readonly deploymentId: string;
  readonly spec: AppSpec;
  readonly imageId: string;
  /** The image's digest in the registry, if that was asked: the same image can be pulled again. */
  readonly digest?: string | undefined;
  readonly containerId: string;
  /** The desired state: a stopped app stays stopped, also after a reboot. */
  readonly desired: "running" | "stopped";
  /** The last stop, start or restart; absent if there was none since its deployment. */
  readonly changedBy?: string | undefined;
  /** The image before the last update, kept for a rollback. */
  readonly previousImageId: string | undefined;
  /** Adopted by its container's labels after the store was lost: whether its deployment had succeeded is unknown. */
  readonly isAdopted?: true | undefined;
  /** How it differs from its fleet's revision, or its container from it; absent if neither does. */
  readonly changed?: AppChange | undefined;
  /** Absent for an app that no fleet has applied. Set when the apply has succeeded: see `fleetMarks`. */
  readonly fleet?: FleetMark | undefined;
}

/** Returns the record of an app that is to run and has not been updated yet. */
export function newApp(
  spec: AppSpec,
  found: Pick<AppRecord, "deploymentId" | "imageId" | "digest" | "containerId">,
): AppRecord {
  const { deploymentId, imageId, digest, containerId } = found;
  const image = { imageId, ...(digest !== undefined && { digest }) };
  return { name: spec.name, deploymentId, spec, ...image, containerId, desired: "running", previousImageId: undefined };
}

/**
 * Returns the record with the app's current container and image, which a repair may have replaced since the command was
 * accepted: a rollback must not refer to those that are gone.
 *
 * @param installed the stored record of the app
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
    previous: { ...previous, containerId, imageId, digest },
  };
}

/** Returns the record of a new deployment requested by the control plane. */
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

/** Returns the record without credentials once they are not needed: the image is there, or will not be pulled. */
export function withoutSpentCredentials(record: DeploymentRecord): DeploymentRecord {
  const { registry_auth: auth, ...options } = record.options;
  const isNeeded = record.imageId === undefined && record.outcome === "pending" && !record.failure;
  return auth === undefined || isNeeded ? record : { ...record, options };
}
