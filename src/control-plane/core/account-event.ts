import type { AccountEvent } from "../../protocol/account-event.ts";
import { type Deployment, isFinished } from "./deployment.ts";

type Unnumbered<E> = E extends unknown ? Omit<E, "id" | "at_ms"> : never;

/** An event of an account before it is stored. The store gives it its id and its time. */
export type NewAccountEvent = Unnumbered<AccountEvent>;

/**
 * Returns the event of the account for a change of a deployment; `undefined` if there is none: its progress is in its own
 * events.
 *
 * @param before `undefined` for a new deployment
 */
export function accountEventOf(before: Deployment | undefined, after: Deployment): NewAccountEvent | undefined {
  const { assetUuid, id, app, action, status, code } = after;
  const about = { asset_id: assetUuid, deployment_id: id, app, action };
  if (!before) return { type: "deployment.started", ...about };
  if (isFinished(after)) {
    if (isFinished(before)) return undefined;
    return { type: "deployment.ended", ...about, status, ...(code !== undefined && { code }) };
  }
  const step = after.lastEvent?.step;
  if (step === undefined || step === before.lastEvent?.step) return undefined;
  return { type: "deployment.moved", ...about, step };
}

/** Whether the deployment waits for its device to connect. */
export function isWaitingForDevice(deployment: Pick<Deployment, "isWaiting" | "status">): boolean {
  return deployment.isWaiting && !isFinished(deployment);
}
