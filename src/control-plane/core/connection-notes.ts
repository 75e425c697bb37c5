import { connectedIn, disconnectedIn, isConnectionLost } from "./connection.ts";
import { type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { clearUncertainty } from "./outcome-uncertainty.ts";
import { acknowledge, fail, appendNote } from "./transitions.ts";

/**
 * The connection went while the device was working: said once, and not where a later session has taken over since.
 *
 * @param epoch number of the session that ended
 */
export function noteConnectionLost(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange | undefined {
  const connection = disconnectedIn(epoch);
  if (isFinished(deployment) || deployment.acknowledgedAtMs === undefined) return undefined;
  if (deployment.connection >= connection) return undefined;
  if (isConnectionLost(deployment)) return { fields: { connection } };
  const said = appendNote(deployment, nowMs, "The connection to the device was lost; waiting for it to come back.", {
    connection: "lost",
  });
  return { ...said, fields: { ...said?.fields, connection } };
}

/**
 * The device is back and holds the deployment; said if it was said that the connection was lost. Changes nothing where
 * this session is over by now, or a later one has taken over.
 *
 * @param epoch number of the session in which the device said so
 */
export function confirmOnDevice(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange | undefined {
  const connection = connectedIn(epoch);
  if (isFinished(deployment) || deployment.connection >= connection) return undefined;
  const restored = isConnectionLost(deployment) ? noteConnectionRestored(deployment, nowMs) : undefined;
  const acknowledged = acknowledge(deployment, nowMs, epoch);
  const certain = clearUncertainty(deployment, nowMs);
  return { ...restored, fields: { ...restored?.fields, ...acknowledged?.fields, ...certain, connection } };
}

/** The device is back and does not hold the deployment any more. */
export function failMissingOnDevice(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (deployment.cancelRequestedAtMs !== undefined) return fail(deployment, nowMs, "DeploymentCancelled");
  return fail(deployment, nowMs, "Internal", "The device no longer has this deployment; deploy again.");
}

/** It was said that the connection was lost, and it is back. */
export function noteConnectionRestored(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  return appendNote(deployment, nowMs, "The connection to the device is back; the deployment goes on.", {
    connection: "restored",
  });
}

/** The control plane stops; whoever reads the stream is told where it goes on. */
export function noteStreamInterrupted(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const resume = `/v1/assets/${deployment.assetUuid}/edge/deployments/${deployment.id}/events?after=${deployment.lastSeq + 1}`;
  return appendNote(
    deployment,
    nowMs,
    `The service is restarting and this stream ends; the deployment goes on. Its events continue at GET ${resume}`,
    { resume },
  );
}
