import type { ErrorCode } from "../../protocol/errors.ts";
import type { ControlFrame } from "../../protocol/frames.ts";
import { type DeploymentSummary, isFinished } from "./deployment.ts";
import { mustNotCancel } from "./outcome-uncertainty.ts";

export type CancelReason = Extract<ControlFrame, { type: "cancel" }>["reason"];

/** What a device has to be told, or a deployment ended with, after the device has said which ones it holds. */
export type ReconcileAction =
  /** The device holds it, and it goes on. */
  | { readonly kind: "confirm"; readonly deploymentId: string }
  /** The device does not hold it: it never had it, has ended it, or has forgotten it. */
  | { readonly kind: "query_outcome"; readonly deploymentId: string }
  /** The device holds what is not wanted. */
  | { readonly kind: "cancel"; readonly deploymentId: string; readonly reason: CancelReason };

/**
 * Compares what the device holds with what is on record.
 *
 * @param unfinished all unfinished deployments of the device
 * @param held what the device holds: its id, and the record of this device's deployment if there is one
 */
export function reconcile(
  unfinished: readonly DeploymentSummary[],
  held: readonly { readonly id: string; readonly deployment: DeploymentSummary | undefined }[],
): ReconcileAction[] {
  const heldIds = new Set(held.map(({ id }) => id));
  const actions: ReconcileAction[] = [];
  for (const { id, deployment } of held) {
    // A finished one needs no confirming: the device sends its last event again and gets the acknowledgement then.
    if (deployment && !isFinished(deployment)) actions.push({ kind: "confirm", deploymentId: id });
    // What nobody has a record of is dealt with when the device says how it ended.
    const reason = deployment && cancelReason(deployment);
    if (reason) actions.push({ kind: "cancel", deploymentId: id, reason });
  }
  for (const deployment of unfinished) {
    if (!heldIds.has(deployment.id)) actions.push({ kind: "query_outcome", deploymentId: deployment.id });
  }
  return actions;
}

/** Why the device is to undo this deployment; `undefined` when it is not. */
export function cancelReason(deployment: DeploymentSummary): CancelReason | undefined {
  if (deployment.status === "Running") return deployment.cancelRequestedAtMs === undefined ? undefined : "requested";
  if (mustNotCancel(deployment)) return undefined;
  return deployment.code && CANCEL_REASONS[deployment.code];
}

// Other failures are the device's own reports: it has undone what it did.
const CANCEL_REASONS: Partial<Record<ErrorCode, CancelReason>> = {
  DeploymentTimeout: "timeout",
  DeviceNotReachable: "not_reachable",
  DeploymentCancelled: "requested",
  Internal: "unknown",
  RegistryAuthLost: "unknown",
};
