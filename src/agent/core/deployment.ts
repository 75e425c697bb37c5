import type { AppSpec } from "../../protocol/app-spec.ts";
import type { DeploymentStep } from "../../protocol/deployment-event.ts";
import type { ErrorCode, ErrorDetails } from "../../protocol/errors.ts";

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
  /** Rises with every deployment accepted. Who was first keeps a port or a name two ask for. */
  readonly order: number;
  /**
   * Who asked for it. What the control plane asked for is told to it event by event, and held until it has the end;
   * what was asked for on the device itself is nobody else's, and forgotten with its end.
   */
  readonly origin: "control_plane" | "local";
  /** The app's name, empty when the request was too broken to have one. */
  readonly app: string;
  /** `undefined` when the request does not fit the schema; then `failure` says so. */
  readonly spec: AppSpec | undefined;
  readonly outcome: "pending" | "succeeded" | "failed";
  /** Every check passed. */
  readonly checked: boolean;
  /** The image the app runs from, once it is on the machine. Until then no container of the deployment can exist. */
  readonly imageId: string | undefined;
  /** Set once the deployment cannot succeed any more; what is left is to clean up. */
  readonly failure: Failure | undefined;
}

/** A container of the agent as seen on the engine. */
export interface ObservedContainer {
  readonly id: string;
  readonly running: boolean;
}

/** An app that runs, or should, because its deployment succeeded. */
export interface AppRecord {
  readonly name: string;
  readonly deploymentId: string;
  readonly spec: AppSpec;
  readonly imageId: string;
  readonly containerId: string;
}

/** The fields of a fresh record of a deployment the control plane asked for. */
export function newRecord(id: string, order: number, spec: AppSpec | undefined, failure?: Failure): DeploymentRecord {
  return {
    id,
    order,
    origin: "control_plane",
    app: spec?.name ?? "",
    spec,
    outcome: "pending",
    checked: false,
    imageId: undefined,
    failure,
  };
}
