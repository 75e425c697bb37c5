import { expire } from "../../src/control-plane/core/deadlines.ts";
import { type Deployment, newDeployment } from "../../src/control-plane/core/deployment.ts";
import type { DeploymentChange } from "../../src/control-plane/core/deployment.ts";
import { appendEvent } from "../../src/control-plane/core/event-log.ts";
import { utf8ByteLength } from "../../src/protocol/utf8-byte-length.ts";
import { receivedEvent } from "../../src/control-plane/core/transitions.ts";

/** When the deployments of the unit tests were requested, Unix milliseconds. */
export const T0 = 1_800_000_000_000;

/** Returns the deployment as a store keeps it after the change. */
export function applyChange(deployment: Deployment, change: DeploymentChange | undefined): Deployment {
  const event = change?.event;
  const version = deployment.version + (change ? 1 : 0);
  const eventBytes = deployment.eventBytes + (event ? utf8ByteLength(JSON.stringify(event)) : 0);
  return {
    ...deployment,
    ...change?.fields,
    eventBytes,
    ...(event && { lastEvent: event, lastSeq: event.seq }),
    version,
  };
}

/** Returns the change when one deadline of the deployment has passed: that for its end, or for a reply of the device. */
export function expireDeadline(
  deployment: Deployment,
  kind: "finish" | "reply",
  nowMs: number,
): DeploymentChange | undefined {
  const due = kind === "finish" ? { finishDueMs: 0, replyDueMs: undefined } : { finishDueMs: 1, replyDueMs: 0 };
  return expire({ ...deployment, ...due }, { nowMs, serviceNowMs: 0, ackTimeoutMs: 10_000 });
}

/** Returns a deployment with its first event. */
export function receivedDeployment(fields: Partial<Deployment> = {}): Deployment {
  const fresh = newDeployment({
    id: "dep_1",
    accountId: "acc_1",
    assetUuid: "11111111-1111-4111-8111-111111111111",
    app: "web",
    action: "deploy",
    options: {},
    hasRegistryAuth: false,
    spec: { name: "web", environments: [{ key: "A", value: "secret" }] },
    nowMs: T0,
    timeoutMs: 900_000,
  });
  return { ...applyChange(fresh, appendEvent(fresh, receivedEvent(fresh), T0)), version: 1, ...fields };
}
