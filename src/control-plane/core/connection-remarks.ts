import type { Change, Deployment } from "./deployment.ts";
import { acknowledge, fail, remark } from "./transitions.ts";

/** The connection went while the device was working: said once. */
export function connectionLost(deployment: Deployment, nowMs: number): Change | undefined {
  if (deployment.acknowledgedAtMs === undefined || isLost(deployment)) return undefined;
  return remark(deployment, nowMs, "The connection to the device was lost; waiting for it to come back.", {
    connection: "lost",
  });
}

/** The device is back and holds the deployment; said if it was said that the connection was lost. */
export function confirmHeld(deployment: Deployment, nowMs: number): Change | undefined {
  const restored = isLost(deployment) ? connectionRestored(deployment, nowMs) : undefined;
  const acknowledged = acknowledge(deployment, nowMs);
  if (!restored && !acknowledged) return undefined;
  return { ...restored, fields: { ...restored?.fields, ...acknowledged?.fields } };
}

/** The device is back and does not hold the deployment any more. */
export function failLost(deployment: Deployment, nowMs: number): Change | undefined {
  if (deployment.cancelRequestedAtMs !== undefined) return fail(deployment, nowMs, "DeploymentCancelled");
  return fail(deployment, nowMs, "Internal", "The device no longer has this deployment; deploy again.");
}

function connectionRestored(deployment: Deployment, nowMs: number): Change | undefined {
  return remark(deployment, nowMs, "The connection to the device is back; the deployment goes on.", {
    connection: "restored",
  });
}

/** The control plane stops; whoever reads the stream is told where it goes on. */
export function streamInterrupted(deployment: Deployment, nowMs: number): Change | undefined {
  const resume = `/v1/assets/${deployment.assetUuid}/edge/deployments/${deployment.id}/events?after=${deployment.lastSeq + 1}`;
  return remark(
    deployment,
    nowMs,
    `The service is restarting and this stream ends; the deployment goes on. Its events continue at GET ${resume}`,
    { resume },
  );
}

function isLost(deployment: Deployment): boolean {
  return deployment.lastEvent?.details?.["connection"] === "lost";
}
