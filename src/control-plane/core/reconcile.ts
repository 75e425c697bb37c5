import type { ErrorCode } from "../../protocol/errors.ts";
import type { ControlFrame } from "../../protocol/frames.ts";
import { type DeploymentSummary, isFinished } from "./deployment.ts";
import { mustNotCancel } from "./outcome-uncertainty.ts";

export type CancelReason = Extract<ControlFrame, { type: "cancel" }>["reason"];

/** What to do about a deployment after the device has listed those it holds. */
export type ReconcileAction =
  /** The device holds it, and it continues. */
  | { readonly kind: "confirm"; readonly deploymentId: string }
  /** The device does not hold it: it never received it, has finished it, or has lost its record. */
  | { readonly kind: "query_outcome"; readonly deploymentId: string }
  /** The device holds it and must undo it. */
  | { readonly kind: "cancel"; readonly deploymentId: string; readonly reason: CancelReason };

/**
 * Compares the deployments that the device holds with those on record.
 *
 * @param unfinished all unfinished deployments of the device
 * @param held deployments that the device holds: the id, and the record if the deployment belongs to this device
 */
export function reconcile(
  unfinished: readonly DeploymentSummary[],
  held: readonly { readonly id: string; readonly deployment: DeploymentSummary | undefined }[],
): ReconcileAction[] {
  const heldIds = new Set(held.map(({ id }) => id));
  const actions: ReconcileAction[] = [];
  for (const { id, deployment } of held) {
    // A finished one is not confirmed: the device sends its final event again, and gets the acknowledgement then.
    if (deployment && !isFinished(deployment)) actions.push({ kind: "confirm", deploymentId: id });
    // One without a record is handled when the device sends its final event.
    const reason = deployment && cancelReason(deployment);
    if (reason) actions.push({ kind: "cancel", deploymentId: id, reason });
  }
  for (const deployment of unfinished) {
    if (!heldIds.has(deployment.id)) actions.push({ kind: "query_outcome", deploymentId: deployment.id });
  }
  return actions;
}

/** Returns why the device must undo this deployment; `undefined` when it must not. */
export function cancelReason(deployment: DeploymentSummary): CancelReason | undefined {
  if (deployment.status === "Running") return deployment.cancelRequestedAtMs === undefined ? undefined : "requested";
  if (mustNotCancel(deployment)) return undefined;
  return deployment.code && CANCEL_REASONS[deployment.code];
}

// Other failures are reported by the device after its rollback.
const CANCEL_REASONS: Partial<Record<ErrorCode, CancelReason>> = {
  DeploymentTimeout: "timeout",
  DeviceNotReachable: "not_reachable",
  DeploymentCancelled: "requested",
  Internal: "unknown",
  RegistryAuthLost: "unknown",
};
