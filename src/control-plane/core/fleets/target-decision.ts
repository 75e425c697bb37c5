import type { DeploymentAction } from "../../../protocol/deployments/deployment-action.ts";
import type { DeploymentStatus } from "../../../protocol/deployments/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { AppRemoval, AppReport, DeviceFacts } from "../../../protocol/apps/app-report.ts";
import type { Direction, Rollout, Target, TargetFields } from "./rollout.ts";
import type { Goal } from "./fleet.ts";
import type { ProtocolVersions } from "../../../protocol/version.ts";
import type { WindowState } from "./windows.ts";

/** What is known of a target's asset at one moment. Times are Unix milliseconds. */
export interface TargetFacts {
  readonly isConnected: boolean;
  /** When its present connection began; `undefined` while it is not connected. */
  readonly connectedSinceMs: number | undefined;
  /** Negotiated protocol version of its latest session; `undefined` if it was never connected. */
  readonly protocol: number | undefined;
  /** Version of its agent, as it has said last; `undefined` if it was never connected. */
  readonly agentVersion: string | undefined;
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
  readonly action: DeploymentAction;
  readonly status: DeploymentStatus;
  readonly code: ErrorCode | undefined;
  readonly message: string | undefined;
  /** When the device acknowledged it. */
  readonly acknowledgedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** It puts the download off until then, by its budget or its hours. */
  readonly putOffUntilMs: number | undefined;
}

/** What a target is decided with, beside the facts about its asset. */
export interface TargetContext {
  readonly rollout: Pick<Rollout, "kind" | "state" | "wave" | "waveEnteredAtMs" | "strategy">;
  /** What its asset is to run, by the direction of the target. */
  readonly goals: Readonly<Record<Direction, Goal>>;
  /** Whether a deployment may begin on the asset now. */
  readonly window: WindowState;
  /** Default: those of this program. */
  readonly protocols?: ProtocolVersions | undefined;
}

/** What is to be done with a target. */
export type TargetDecision =
  | { readonly kind: "nothing" }
  /** Store these fields. */
  | { readonly kind: "change"; readonly fields: TargetFields }
  /** Begin an attempt, with the fields of `beginAttempt`, if it is admitted (see `admit`); otherwise store these fields. */
  | { readonly kind: "begin"; readonly otherwise: TargetFields }
  /** Request the deployment of the latest attempt, and store its id. Safe to repeat. */
  | { readonly kind: "request" };

/** What is known of a target only while its apps are up, or end again and again, after a deployment. */
export const NOT_SOAKING = { soakSinceMs: undefined, downSinceMs: undefined } as const;

/** A target, the facts about its asset, and the rest, at one moment. */
export interface Situation {
  readonly target: Target;
  readonly facts: TargetFacts;
  readonly context: TargetContext;
  readonly nowMs: number;
}

/**
 * Returns the decision that makes the target as `wanted`; fields that are not named stay. Without `dueMs` in `wanted`, the
 * target is not due any more. Without a reason to wait in `wanted`, it has none.
 */
export function become(target: Target, wanted: TargetFields, nowMs: number): TargetDecision {
  const fields = changedFields(target, wanted, nowMs);
  return Object.keys(fields).length === 0 ? { kind: "nothing" } : { kind: "change", fields };
}

/** Returns those fields of `become` that the target does not have yet. */
export function changedFields(target: Target, wanted: TargetFields, nowMs: number): TargetFields {
  const isNew = wanted.state !== undefined && wanted.state !== target.state;
  const complete: TargetFields = {
    waitsFor: undefined,
    dueMs: undefined,
    ...wanted,
    ...(isNew && { sinceMs: nowMs }),
  };
  const entries = Object.entries(complete).filter(([name, value]) => target[name as keyof Target] !== value);
  return Object.fromEntries(entries);
}

/** Why a target of an asset that is not a member any more is skipped. */
export const LEFT = "The asset has left the fleet and keeps its apps.";
