import { type ChangeTime, dueTimes } from "./deadlines.ts";
import { type Delivery, type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { cancelReason } from "./reconcile.ts";

/*
 * A request or a cancellation only writes what the device has to receive. Whoever holds the device's session brings it
 * over, and nothing else does.
 */

/** Returns what the device of an unfinished deployment, or of one that ends now, has to receive. */
export function pendingDelivery(deployment: Deployment): Delivery | undefined {
  // The device is asked first, and told nothing until it has answered.
  if (deployment.uncertainty !== undefined) return undefined;
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

/**
 * Returns what to send of a deployment that waits to be delivered; `undefined`: nothing.
 *
 * @param sent what was sent of it in this session
 */
export function nextDelivery(
  { delivery, uncertainty }: Pick<Deployment, "delivery" | "uncertainty">,
  sent: Delivery | undefined,
): Delivery | undefined {
  return uncertainty !== undefined || delivery === sent ? undefined : delivery;
}
