import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { ControlFrame } from "../../protocol/link/frames.ts";
import {
  codeOf,
  type Deployment,
  type DeploymentSummary,
  isFinished,
  type Progress,
  wasNeverSent,
} from "./deployment.ts";
import { mustNotCancel } from "./outcome-uncertainty.ts";

/*
 * What a device has to be told about a deployment. A request or a cancellation only changes the record; the instance that holds the
 * device's session reads from it what to bring over, and nothing else does.
 */

/** `command`: the device has not acknowledged it. `cancel`: the device must undo it, and has not confirmed that. */
export type Delivery = "command" | "cancel";

export type CancelReason = Extract<ControlFrame, { type: "cancel" }>["reason"];

// Other failures are reported by the device after its rollback.
const CANCEL_REASONS: Partial<Record<ErrorCode, CancelReason>> = {
  DeploymentTimeout: "timeout",
  DeviceNotReachable: "not_reachable",
  DeploymentCancelled: "requested",
  Internal: "unknown",
  RegistryAuthLost: "unknown",
};

/** Returns why the device must undo this deployment; `undefined` when it must not. */
export function cancelReason(deployment: DeploymentSummary): CancelReason | undefined {
  if (!isFinished(deployment)) return deployment.cancelRequestedAtMs === undefined ? undefined : "requested";
  const code = codeOf(deployment);
  return code === undefined || mustNotCancel(deployment) ? undefined : CANCEL_REASONS[code];
}

/** Whether the device must undo a deployment that ends with this code. */
export function mustUndo(code: ErrorCode | undefined, progress: Progress): boolean {
  // A device that is away for long would have to be told of each one that it never had.
  return code !== undefined && CANCEL_REASONS[code] !== undefined && !wasNeverSent(progress);
}

/**
 * Returns what the device has to receive; `undefined`: nothing. The store keeps commands back from a device that waits for
 * acceptance (`KEPT_BACK` in `store/sql/device-acceptance.ts`): they are of no list of what waits until then.
 */
export function deliveryOf({
  state,
  cancelRequestedAtMs,
}: Pick<Deployment, "state" | "cancelRequestedAtMs">): Delivery | undefined {
  switch (state.kind) {
    case "ended":
      return state.status === "Fail" && state.unsettled === "undo" ? "cancel" : undefined;
    case "uncertain":
      // The device is asked first, and told nothing until it has answered.
      return undefined;
    case "acknowledged":
      return cancelRequestedAtMs === undefined ? undefined : "cancel";
    case "waiting":
    case "sending":
      return cancelRequestedAtMs === undefined ? "command" : "cancel";
  }
}

/** What to do about a deployment that waits to be delivered to a connected device. */
export type DeliveryAction =
  | Delivery
  /** It waits for the device, which is connected: the wait is over, and the command follows. */
  | "end_wait"
  /** It was cancelled before it was sent: it ends. A device does not reply about what it does not have. */
  | "end"
  /** The command was sent, and the device does not respond: the connection may be dead. */
  | "probe";

/**
 * Returns what to do next about a deployment that waits to be delivered; `undefined`: nothing.
 *
 * @param done the last action in this session
 */
export function nextDelivery(
  deployment: Pick<Deployment, "state" | "cancelRequestedAtMs">,
  done: DeliveryAction | undefined,
): DeliveryAction | undefined {
  const delivery = deliveryOf(deployment);
  const { kind } = deployment.state;
  // What an earlier session has sent is acknowledged or uncertain once the device has listed what it holds.
  const isUnsent = done === undefined && (kind === "waiting" || kind === "sending");
  if (delivery === "cancel" && isUnsent) return "end";
  if (delivery !== "command" || kind !== "waiting") return delivery === done ? undefined : delivery;
  if (done === undefined) return "end_wait";
  return done === "command" ? "probe" : undefined;
}

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
