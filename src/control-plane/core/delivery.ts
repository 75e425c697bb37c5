import { type ChangeTime, dueTimes } from "./deadlines.ts";
import { type Delivery, type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { cancelReason } from "./reconcile.ts";
import { wasNeverSent } from "./waiting.ts";

/*
 * A request or a cancellation only writes what the device has to receive. Whoever holds the device's session brings it
 * over, and nothing else does.
 */

/** Returns what the device of an unfinished deployment, or of one that ends now, has to receive. */
export function pendingDelivery(deployment: Deployment): Delivery | undefined {
  // The device is asked first, and told nothing until it has answered.
  if (deployment.uncertainty !== undefined) return undefined;
  // A device that is away for long would have to be told of each one.
  if (isFinished(deployment) && wasNeverSent(deployment)) return undefined;
  if (cancelReason(deployment)) return "cancel";
  return isFinished(deployment) || deployment.acknowledgedAtMs !== undefined ? undefined : "command";
}

/**
 * Adds to a change what follows from it: what has to be delivered, and when the deadlines expire. A change that names
 * `delivery` is right about it; that of a deployment that had ended before stays otherwise.
 */
export function completeChange(before: Deployment, change: DeploymentChange, time: ChangeTime): DeploymentChange {
  const fields = { ...change.fields };
  if (!("delivery" in fields) && !isFinished(before)) fields.delivery = pendingDelivery({ ...before, ...fields });
  return { ...change, fields: { ...fields, ...dueTimes(before, { ...before, ...fields }, time) } };
}

/** Returns a new deployment with what has to be delivered and its deadlines. */
export function completeNew(deployment: Deployment, time: ChangeTime): Deployment {
  return { ...deployment, delivery: pendingDelivery(deployment), ...dueTimes(undefined, deployment, time) };
}

/** What to do about a deployment that waits to be delivered to a connected device. */
export type DeliveryStep =
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
 * @param done the last step in this session
 */
export function nextDelivery(
  deployment: Pick<Deployment, "delivery" | "uncertainty" | "isWaiting" | "status" | "acknowledgedAtMs">,
  done: DeliveryStep | undefined,
): DeliveryStep | undefined {
  const { delivery, uncertainty, isWaiting, acknowledgedAtMs } = deployment;
  if (uncertainty !== undefined) return undefined;
  // What an earlier session has sent is acknowledged or uncertain once the device has listed what it holds.
  const isUnsent = done === undefined && acknowledgedAtMs === undefined && !isFinished(deployment);
  if (delivery === "cancel" && isUnsent) return "end";
  if (delivery !== "command" || !isWaiting) return delivery === done ? undefined : delivery;
  if (done === undefined) return "end_wait";
  return done === "command" ? "probe" : undefined;
}
