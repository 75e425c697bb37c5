import { expire } from "../../src/control-plane/core/deadlines.ts";
import type { Command } from "../../src/control-plane/core/command.ts";
import { type Delivery, deliveryOf } from "../../src/control-plane/core/delivery.ts";
import {
  type Acknowledged,
  acknowledgedAtMsOf,
  codeOf,
  type Deployment,
  type DeploymentChange,
  type Ended,
  type Failed,
  newDeployment,
  type Progress,
  progressOf,
  type Sending,
  statusOf,
  type Uncertain,
  type Uncertainty,
  uncertaintyOf,
} from "../../src/control-plane/core/deployment.ts";
import type { DeploymentAction } from "../../src/protocol/deployments/deployment-action.ts";
import type { DeploymentStatus } from "../../src/protocol/deployments/deployment-event.ts";
import type { ErrorCode } from "../../src/protocol/errors/errors.ts";
import { appendEvent } from "../../src/control-plane/core/event-log.ts";
import { utf8ByteLength } from "../../src/protocol/values/utf8-byte-length.ts";
import { receivedEvent } from "../../src/control-plane/core/transitions.ts";

/** When the deployments of the unit tests were requested, Unix milliseconds. */
export const T0 = 1_800_000_000_000;

/** The state of a deployment from the request until its device acknowledges it. */
export const SENDING: Sending = { kind: "sending", sendingSinceMs: T0 };

export const SUCCEEDED: Ended = { kind: "ended", status: "Success", finishedAtMs: T0, progress: SENDING };

/** Returns a command with a specification that the test need not complete. */
export function commandOf(action: DeploymentAction, spec: unknown = null): Command {
  return { action, spec } as Command;
}

/** Returns the state of a deployment that its device has acknowledged at this time. */
export function acknowledged(acknowledgedAtMs = T0): Acknowledged {
  return { kind: "acknowledged", acknowledgedAtMs, sendingSinceMs: T0 };
}

/** Returns the state of a deployment with an uncertain outcome; `overdue` and `restored` end in a minute. */
export function uncertain(uncertainty: Uncertainty, progress: Progress = SENDING): Uncertain {
  if (uncertainty === "asked" || uncertainty === "backup") return { kind: "uncertain", uncertainty, progress };
  return { kind: "uncertain", uncertainty, untilMs: T0 + 60_000, progress };
}

/** Returns the state of a deployment that has failed. */
export function failed(code?: ErrorCode, unsettled?: Failed["unsettled"], progress: Progress = SENDING): Failed {
  return { kind: "ended", status: "Fail", code, finishedAtMs: T0, progress, unsettled };
}

interface StateFacts {
  readonly status: DeploymentStatus;
  readonly code: ErrorCode | undefined;
  readonly acknowledgedAtMs: number | undefined;
  readonly isWaiting: boolean;
  readonly uncertainty: Uncertainty | undefined;
  readonly delivery: Delivery | undefined;
}

/** Returns the deployment with what its state says, for comparisons. */
export function factsOf<D extends Pick<Deployment, "state" | "cancelRequestedAtMs">>(deployment: D): D & StateFacts {
  return {
    ...deployment,
    status: statusOf(deployment),
    code: codeOf(deployment),
    acknowledgedAtMs: acknowledgedAtMsOf(deployment),
    isWaiting: progressOf(deployment).kind === "waiting",
    uncertainty: uncertaintyOf(deployment),
    delivery: deliveryOf(deployment),
  };
}

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

/** The time of one that was requested at another time than `T0` begins then. */
function stateAt({ createdAtMs }: Partial<Deployment>): Partial<Deployment> {
  return createdAtMs === undefined ? {} : { state: { kind: "sending", sendingSinceMs: createdAtMs } };
}

/** Returns a deployment with its first event. */
export function receivedDeployment(fields: Partial<Deployment> = {}): Deployment {
  const fresh = newDeployment({
    id: "dep_1",
    accountId: "acc_1",
    assetUuid: "11111111-1111-4111-8111-111111111111",
    app: "web",
    command: commandOf("deploy", { name: "web", environments: [{ key: "A", value: "secret" }] }),
    options: {},
    hasRegistryAuth: false,
    nowMs: T0,
    timeoutMs: 900_000,
  });
  return {
    ...applyChange(fresh, appendEvent(fresh, receivedEvent(fresh), T0)),
    version: 1,
    ...stateAt(fields),
    ...fields,
  };
}
