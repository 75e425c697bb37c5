import type { DeploymentStatus } from "../../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors.ts";
import type { AppRemoval, AppReport, DeviceFacts } from "../../../protocol/app-report.ts";

/** What is known of a target's asset at one moment. Times are Unix milliseconds. */
export interface TargetFacts {
  readonly isConnected: boolean;
  /** When its present connection began; `undefined` while it is not connected. */
  readonly connectedSinceMs: number | undefined;
  /** Negotiated protocol version of its latest session; `undefined` if it was never connected. */
  readonly protocol: number | undefined;
  /** When its device was last known to be connected; `undefined` if never. */
  readonly lastSeenAtMs: number | undefined;
  /** Its last report; `undefined` if it has sent none. */
  readonly report: ReportFacts | undefined;
  /** People want it left alone until then; `Infinity`: until they say otherwise. `undefined`: they do not. */
  readonly heldUntilMs: number | undefined;
  /** Since when its device waits to be accepted; `undefined`: it was accepted. */
  readonly unacceptedSinceMs: number | undefined;
  /** Apps of the fleet that another fleet owns on this asset, with the name of that fleet. */
  readonly conflicts: readonly { readonly app: string; readonly fleet: string }[];
  /** Whether another rollout, or the fleet's upkeep, has a deployment under way there. */
  readonly isBusy: boolean;
  /** Whether it is still a member of the fleet. */
  readonly isMember: boolean;
  /** Variables that the revision needs and the asset does not have. */
  readonly missingVariables: readonly string[];
  /** The deployment of the target's latest attempt; `undefined` if there is none or it is no longer kept. */
  readonly deployment: DeploymentFacts | undefined;
}

export interface ReportFacts {
  readonly apps: readonly AppReport[];
  readonly device: DeviceFacts | undefined;
  /** Apps that are not there since they were removed. */
  readonly removals?: readonly AppRemoval[] | undefined;
  /** When it was received. */
  readonly atMs: number;
  /** Since when the device holds changes of it back; `undefined`: it does not. */
  readonly heldSinceMs: number | undefined;
}

export interface DeploymentFacts {
  readonly id: string;
  readonly status: DeploymentStatus;
  readonly code: ErrorCode | undefined;
  readonly message: string | undefined;
  /** When the device acknowledged it. */
  readonly acknowledgedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** It puts the download off until then, by its budget or its hours. */
  readonly putOffUntilMs: number | undefined;
}
