import { type DeviceEvent, isFinal } from "../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import { confirmHeld, connectionLost, failLost } from "../core/connection-remarks.ts";
import type { Deployment } from "../core/deployment.ts";
import { MAX_EVENT_BYTES, MAX_EVENT_BYTES_OVER_QUOTA } from "../core/event-log.ts";
import { cancelReason, type Correction, reconcile } from "../core/reconcile.ts";
import { acknowledge, fail, replyToEvent, takeDeviceEvent } from "../core/transitions.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import type { DeviceHandler, DeviceSession, Verdict } from "./devices.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Recorder } from "./recorder.ts";

export interface DeviceHandlerParts {
  readonly store: DeploymentStore;
  readonly recorder: Recorder;
  readonly dispatcher: Dispatcher;
  /** Most bytes that the deployments of one account take in the store. */
  readonly maxAccountBytes: number;
}

/** Takes what devices say about their deployments into the record, and answers them. */
export class DeploymentDeviceHandler implements DeviceHandler {
  readonly #store: DeploymentStore;
  readonly #recorder: Recorder;
  readonly #dispatcher: Dispatcher;
  readonly #maxAccountBytes: number;

  constructor({ store, recorder, dispatcher, maxAccountBytes }: DeviceHandlerParts) {
    this.#store = store;
    this.#recorder = recorder;
    this.#dispatcher = dispatcher;
    this.#maxAccountBytes = maxAccountBytes;
  }

  async connected(session: DeviceSession, held: readonly string[]): Promise<void> {
    const unfinished = await this.#store.listUnfinished(session.assetUuid);
    const known = await Promise.all(
      held.map(async (id) => ({ id, deployment: await this.#ownDeployment(session, id) })),
    );
    for (const correction of reconcile(unfinished, known)) await this.#correct(session, correction);
  }

  async disconnected(session: DeviceSession): Promise<void> {
    for (const { id } of await this.#store.listUnfinished(session.assetUuid)) {
      await this.#recorder.change(id, connectionLost);
    }
  }

  async acknowledged(session: DeviceSession, deploymentId: string): Promise<Verdict> {
    if (!(await this.#ownDeployment(session, deploymentId))) return this.#refuse(session, deploymentId);
    const after = await this.#recorder.change(deploymentId, acknowledge);
    const reason = after && cancelReason(after);
    if (reason) session.send({ type: "cancel", deployment_id: deploymentId, reason });
    return "taken";
  }

  async refused(session: DeviceSession, deploymentId: string, code: ErrorCode, message: string): Promise<Verdict> {
    if (!(await this.#ownDeployment(session, deploymentId))) return "foreign";
    await this.#recorder.change(deploymentId, (deployment, nowMs) =>
      // What the device once took it can only end with an event.
      deployment.acknowledgedAtMs === undefined ? fail(deployment, nowMs, code, message) : undefined,
    );
    return "taken";
  }

  async event(session: DeviceSession, deploymentId: string, event: DeviceEvent): Promise<Verdict> {
    const deployment = await this.#store.findDeployment(deploymentId);
    if (deployment?.assetUuid !== session.assetUuid) {
      // Where there is no record at all it is gone: removed with age while the device was away, or lost with a database
      // that was restored. That is no reason to undo an app that runs well.
      const mayForget = event.status === "Fail" || (isFinal(event) && deployment === undefined);
      if (mayForget) acknowledgeEvent(session, deploymentId, event);
      else this.#refuse(session, deploymentId);
      return "foreign";
    }
    const after = await this.#recorder.change(deploymentId, (deployment, nowMs) =>
      takeDeviceEvent(deployment, event, nowMs, this.#maxEventBytes(deployment)),
    );
    if (after && replyToEvent(after, event) === "cancel") {
      session.send({ type: "cancel", deployment_id: deploymentId, reason: cancelReason(after) ?? "unknown" });
    } else {
      acknowledgeEvent(session, deploymentId, event);
    }
    return "taken";
  }

  async #correct(session: DeviceSession, correction: Correction): Promise<void> {
    switch (correction.kind) {
      case "confirm":
        await this.#recorder.change(correction.deploymentId, confirmHeld);
        break;
      case "lost":
        await this.#recorder.change(correction.deploymentId, failLost);
        // A device that lost its memory may still run what it began: it finds it by the container's label.
        session.send({ type: "cancel", deployment_id: correction.deploymentId, reason: "unknown" });
        break;
      case "send":
        await this.#dispatcher.send(session, correction.deployment);
        break;
      case "cancel":
        session.send({ type: "cancel", deployment_id: correction.deploymentId, reason: correction.reason });
        break;
    }
  }

  #maxEventBytes({ accountBytes }: Deployment): number {
    return accountBytes < this.#maxAccountBytes ? MAX_EVENT_BYTES : MAX_EVENT_BYTES_OVER_QUOTA;
  }

  async #ownDeployment(session: DeviceSession, id: string): Promise<Deployment | undefined> {
    const deployment = await this.#store.findDeployment(id);
    return deployment?.assetUuid === session.assetUuid ? deployment : undefined;
  }

  #refuse(session: DeviceSession, deploymentId: string): Verdict {
    session.send({ type: "cancel", deployment_id: deploymentId, reason: "unknown" });
    return "foreign";
  }
}

function acknowledgeEvent(session: DeviceSession, deploymentId: string, { device_seq }: DeviceEvent): void {
  session.send({ type: "event_ack", deployment_id: deploymentId, device_seq });
}
