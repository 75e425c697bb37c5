import type { DeviceEvent } from "../../protocol/deployments/deployment-event.ts";
import type { ErrorCode, ErrorDetails } from "../../protocol/errors/errors.ts";
import { utf8ByteLength } from "../../protocol/values/utf8-byte-length.ts";
import { confirmOnDevice, noteConnectionLost, noteStreamInterrupted } from "./connection-notes.ts";
import { type ChangeTime, completeChange, completeNew, expire, nextDueMs, withoutDueTimes } from "./deadlines.ts";
import { deliveryOf } from "./delivery.ts";
import {
  acknowledgedAtMsOf,
  type Deployment,
  type DeploymentChange,
  isFinished,
  type NewDeployment,
  newDeployment,
  progressOf,
  type StoredEvent,
  uncertaintyOf,
  wasNeverSent,
} from "./deployment.ts";
import { appendEvent, MAX_EVENT_BYTES, MAX_EVENT_BYTES_OVER_QUOTA } from "./event-log.ts";
import { applyOutcome, markForOutcomeQuery, markUncertainOnStart, type ReportedOutcome } from "./resolve-outcome.ts";
import {
  isWaitingForDataPlan,
  type DataPlanObstacle,
  refuseForDataPlan,
  waitForDataPlan,
} from "./sims/plan-obstacle.ts";
import {
  acknowledge,
  applyDeviceEvent,
  confirmUndone,
  fail,
  failUnsent,
  receivedEvent,
  refuse,
  requestCancel,
} from "./transitions.ts";
import { endWaitToSend, waitForDevice } from "./waiting.ts";

/*
 * The life of a deployment on the service: `begin` for a request, then `next` for every fact. Both say what is stored, and what
 * follows once it is stored. They read no clock and no store: the executor in `deployments/` does what they say.
 */

/** What a deployment learns after its request. `epoch` is the number of the device's session that it is learned in. */
export type Fact =
  /** The device has stored the command. */
  | { readonly kind: "acknowledged"; readonly epoch: number }
  /** The device could not store the command, and runs none of it. */
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string }
  /** @property maxAccountBytes size of the account's deployments above which progress is left out sooner */
  | { readonly kind: "event"; readonly event: DeviceEvent; readonly epoch: number; readonly maxAccountBytes: number }
  /** The device has connected, and has listed the deployment among those it holds. */
  | { readonly kind: "held"; readonly epoch: number }
  /** The device has connected, and has not listed it. */
  | { readonly kind: "missing"; readonly epoch: number }
  /** It has ended, and the device has nothing left of it. */
  | { readonly kind: "undone" }
  /** The device, asked for the outcome, has answered. */
  | { readonly kind: "outcome"; readonly outcome: ReportedOutcome; readonly epoch: number }
  /** The device's session has ended. */
  | { readonly kind: "session_lost"; readonly epoch: number }
  /** The device is connected, and the command is about to be sent. */
  | { readonly kind: "device_ready" }
  /** A data plan stands in its way. */
  | { readonly kind: "plan_spent"; readonly obstacle: DataPlanObstacle }
  /** The command cannot be sent to the device. */
  | {
      readonly kind: "unsendable";
      readonly code: ErrorCode;
      readonly message?: string;
      readonly details?: ErrorDetails;
    }
  /** A cancellation is due to be delivered, and nothing was sent. */
  | { readonly kind: "never_sent" }
  | { readonly kind: "cancel_requested" }
  | { readonly kind: "asset_removed" }
  /** A deadline may have passed. */
  | { readonly kind: "deadline" }
  /** @property isOtherDatabase whether a copy of the database, which may lack the latest, has taken its place */
  | { readonly kind: "service_started"; readonly isOtherDatabase: boolean }
  /** A stream of its events ends, because the service stops. */
  | { readonly kind: "stream_interrupted" };

/** What follows from a change once it is stored, in this order. */
export type Effect =
  /** A deadline expires then, in service time. */
  | { readonly kind: "arm_deadline"; readonly dueMs: number }
  /** Its registry credentials are not needed any more. */
  | { readonly kind: "drop_credentials" }
  /** The instance that holds the device's session has something to deliver. */
  | { readonly kind: "wake"; readonly holder: string }
  /** Streams of its events have something to read. */
  | { readonly kind: "tell_streams" }
  | { readonly kind: "log_end" };

/** One change of a deployment: what it was, what it is to be, and what follows. `before` is absent for a new deployment. */
export interface Transition<Before extends Deployment | undefined = Deployment> {
  readonly before: Before;
  readonly after: Deployment;
  /** The new events. */
  readonly events: readonly StoredEvent[];
  readonly effects: readonly Effect[];
}

/** What decides on a new deployment besides its request. */
export interface RequestFacts {
  /** The instance that holds the device's session; `undefined`: it is not connected. */
  readonly holder: string | undefined;
  readonly obstacle: DataPlanObstacle | undefined;
  /** Whether the client waits for a device that is not connected. */
  readonly isAwaited: boolean;
}

/** Returns the first transition of a new deployment: it is received, and may begin to wait or end at once. */
export function begin(request: NewDeployment, facts: RequestFacts, time: ChangeTime): Transition<undefined> {
  const fresh = completeNew({ ...newDeployment(request), holder: facts.holder }, time);
  const first = appendEvent(fresh, receivedEvent(fresh), fresh.createdAtMs);
  if (!first) throw new Error("a new deployment did not accept its first event");
  const received = withChange(fresh, first);
  // Its first event is part of the creation, which is one write, and so one version.
  const deployment = { ...received.after, version: fresh.version };
  const change = onRequest(deployment, facts, time.nowMs);
  const changed = change && withChange(deployment, completeChange(deployment, change, time));
  const after = changed?.after ?? deployment;
  const events = [...received.events, ...(changed?.events ?? [])];
  return { before: undefined, after, events, effects: effectsOf(undefined, after, change) };
}

/** Returns what changes with a fact; `undefined`: nothing, as when the fact is out of date. */
export function next(deployment: Deployment, fact: Fact, time: ChangeTime): Transition | undefined {
  const decided = decide(deployment, fact, time);
  // The deadlines on record are those of an earlier process, whose service time is over: they are measured anew.
  const isResumed = fact.kind === "service_started";
  const change = isResumed ? (decided ?? { fields: {} }) : decided;
  if (!change) return undefined;
  return toTransition(deployment, completeChange(isResumed ? withoutDueTimes(deployment) : deployment, change, time));
}

/** Returns the transition for a complete change. */
export function toTransition(before: Deployment, change: DeploymentChange): Transition {
  const changed = withChange(before, change);
  return { before, ...changed, effects: effectsOf(before, changed.after, change) };
}

function decide(deployment: Deployment, fact: Fact, time: ChangeTime): DeploymentChange | undefined {
  const { nowMs } = time;
  switch (fact.kind) {
    case "acknowledged":
      return acknowledge(deployment, nowMs, fact.epoch);
    case "refused":
      return refuse(deployment, nowMs, fact.code, fact.message);
    case "event": {
      const isOverQuota = deployment.accountStoredBytes >= fact.maxAccountBytes;
      const maxBytes = isOverQuota ? MAX_EVENT_BYTES_OVER_QUOTA : MAX_EVENT_BYTES;
      return applyDeviceEvent(deployment, fact.event, nowMs, fact.epoch, maxBytes);
    }
    case "held":
      return confirmOnDevice(deployment, nowMs, fact.epoch);
    case "missing":
      return markForOutcomeQuery(deployment, nowMs, fact.epoch);
    case "undone":
      return confirmUndone(deployment);
    case "outcome":
      return applyOutcome(deployment, fact.outcome, nowMs, fact.epoch);
    case "session_lost":
      return noteConnectionLost(deployment, nowMs, fact.epoch);
    case "device_ready":
      return deliveryOf(deployment) === "command" ? endWaitToSend(deployment, nowMs) : undefined;
    case "plan_spent":
      if (!wasNeverSent(progressOf(deployment)) || isWaitingForDataPlan(deployment)) return undefined;
      return waitForDataPlan(deployment, nowMs, fact.obstacle);
    case "unsendable":
      if (deliveryOf(deployment) !== "command") return undefined;
      return failUnsent(deployment, nowMs, fact.code, fact.message, fact.details);
    case "never_sent":
      return endCancelled(deployment, nowMs);
    case "cancel_requested":
      return onCancelRequested(deployment, nowMs);
    case "asset_removed":
      return fail(deployment, nowMs, "DeploymentCancelled");
    case "deadline":
      return expire(deployment, time);
    case "service_started":
      return markUncertainOnStart(
        fact.isOtherDatabase ? markFromBackup(deployment) : deployment,
        nowMs,
        time.ackTimeoutMs,
      );
    case "stream_interrupted":
      return noteStreamInterrupted(deployment, nowMs);
  }
}

/**
 * Ends a new deployment whose device is not connected, unless its client waits, and ends or keeps back one in whose way a data
 * plan stands.
 */
function onRequest(
  deployment: Deployment,
  { obstacle, isAwaited }: RequestFacts,
  nowMs: number,
): DeploymentChange | undefined {
  if (obstacle?.effect === "refuse") return refuseForDataPlan(deployment, nowMs, obstacle);
  const isAway = deployment.holder === undefined;
  if (obstacle && (isAwaited || !isAway)) return waitForDataPlan(deployment, nowMs, obstacle);
  if (!isAway) return undefined;
  const waiting = isAwaited && waitForDevice(deployment, nowMs, "The device is not connected; waiting for it");
  return waiting || failUnsent(deployment, nowMs, "DeviceNotReachable");
}

/** While the outcome is uncertain, only the device knows whether the deployment has ended. */
function onCancelRequested(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const mustAskDevice = uncertaintyOf(deployment) !== undefined || deployment.holder !== undefined;
  return mustAskDevice ? requestCancel(deployment, nowMs) : fail(deployment, nowMs, "DeploymentCancelled");
}

function endCancelled(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const { kind } = deployment.state;
  if ((kind !== "waiting" && kind !== "sending") || deployment.cancelRequestedAtMs === undefined) return undefined;
  return failUnsent(deployment, nowMs, "DeploymentCancelled");
}

/** The record may be behind what the device has done and what the client was told. */
function markFromBackup(deployment: Deployment): Deployment {
  if (isFinished(deployment) || uncertaintyOf(deployment) === "restored") return deployment;
  return {
    ...deployment,
    state: { kind: "uncertain", uncertainty: "backup", progress: progressOf(deployment) },
  };
}

function withChange(before: Deployment, { event, fields }: DeploymentChange): Pick<Transition, "after" | "events"> {
  const after = { ...before, ...fields, version: before.version + 1 };
  if (!event) return { after, events: [] };
  const { seq } = event;
  const json = JSON.stringify(event);
  const eventBytes = before.eventBytes + utf8ByteLength(json);
  return { after: { ...after, lastSeq: seq, lastEvent: event, eventBytes }, events: [{ seq, json }] };
}

function effectsOf(
  before: Deployment | undefined,
  after: Deployment,
  change: DeploymentChange | undefined,
): readonly Effect[] {
  const effects: Effect[] = [];
  const dueMs = nextDueMs(after);
  if (dueMs !== undefined) effects.push({ kind: "arm_deadline", dueMs });
  if (acknowledgedAtMsOf(after) !== undefined || isFinished(after)) effects.push({ kind: "drop_credentials" });
  // What began to wait again has been on its way already: its delivery is what it was, and only the wake tells the holder.
  const waitsAnew = after.state.kind === "waiting" && after.state !== before?.state;
  const delivery = deliveryOf(after);
  const mustDeliver = waitsAnew || delivery !== (before && deliveryOf(before));
  if (delivery !== undefined && mustDeliver && after.holder !== undefined) {
    effects.push({ kind: "wake", holder: after.holder });
  }
  if (change?.event) effects.push({ kind: "tell_streams" });
  if (change?.event && isFinished(after)) effects.push({ kind: "log_end" });
  return effects;
}
