import { connectedIn, disconnectedIn, hasReached } from "./connection.ts";
import { acknowledgedAtMsOf, type Deployment, type DeploymentChange, isFinished } from "./deployment.ts";
import { clearUncertainty } from "./outcome-uncertainty.ts";
import { acknowledge, fail, appendNote } from "./transitions.ts";

/**
 * Reports once that the connection was lost while the device works on the deployment. Changes nothing if a later session
 * has taken over.
 *
 * @param epoch number of the session that ended
 */
export function noteConnectionLost(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange | undefined {
  const connection = disconnectedIn(epoch);
  if (isFinished(deployment) || acknowledgedAtMsOf(deployment) === undefined) return undefined;
  if (hasReached(deployment.connection, connection)) return undefined;
  if (deployment.connection.isLost) return { fields: { connection } };
  const noted = appendNote(deployment, nowMs, "The connection to the device was lost; waiting for it to come back.", {
    connection: "lost",
  });
  return { ...noted, fields: { ...noted?.fields, connection } };
}

/**
 * Records that the device holds the deployment. Reports that the connection is back if its loss was reported. Changes
 * nothing if this session has ended, or a later one has taken over.
 *
 * @param epoch number of the session in which the device named the deployment
 */
export function confirmOnDevice(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange | undefined {
  const connection = connectedIn(epoch);
  if (isFinished(deployment) || hasReached(deployment.connection, connection)) return undefined;
  const restored = deployment.connection.isLost ? noteConnectionRestored(deployment, nowMs) : undefined;
  const acknowledged = acknowledge(deployment, nowMs, epoch)?.fields;
  const cleared = clearUncertainty({ ...deployment, ...acknowledged }, nowMs);
  return { ...restored, fields: { ...restored?.fields, ...acknowledged, ...cleared, connection } };
}

/** Fails a deployment that its device no longer holds. */
export function failMissingOnDevice(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (deployment.cancelRequestedAtMs !== undefined) return fail(deployment, nowMs, "DeploymentCancelled");
  return fail(deployment, nowMs, "Internal", "The device no longer has this deployment; repeat the request.");
}

/** Reports that a lost connection is back. */
export function noteConnectionRestored(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  return appendNote(deployment, nowMs, "The connection to the device is back; the deployment goes on.", {
    connection: "restored",
  });
}

/** Tells the clients of a stream, which ends because the service stops, where it continues. */
export function noteStreamInterrupted(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const resume = `/v1/assets/${deployment.assetUuid}/edge/deployments/${deployment.id}/events?after=${deployment.lastSeq + 1}`;
  return appendNote(
    deployment,
    nowMs,
    `The service is restarting and this stream ends; the deployment goes on. Its events continue at GET ${resume}`,
    { resume },
  );
}
