import type { DeviceEvent } from "../../protocol/deployment-event.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import { confirmOnDevice, noteConnectionLost } from "../core/connection-notes.ts";
import { type Deployment, type DeploymentSummary, isFinished } from "../core/deployment.ts";
import { markForOutcomeQuery } from "../core/resolve-outcome.ts";
import { MAX_EVENT_BYTES, MAX_EVENT_BYTES_OVER_QUOTA } from "../core/event-log.ts";
import { cancelReason, reconcile } from "../core/reconcile.ts";
import { acknowledge, refuse, replyToEvent, applyDeviceEvent, withoutDelivery } from "../core/transitions.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import { StaleSessionError } from "../store/sessions.ts";
import type { DeploymentHandler, FrameOutcome } from "../devices/handlers.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { DeviceDelivery } from "./device-delivery.ts";
import type { OutcomeQueries } from "./outcome-queries.ts";
import type { Recorder } from "./recorder.ts";

export interface DeploymentHandlerOptions {
  readonly store: DeploymentStore;
  readonly recorder: Recorder;
  readonly outcomeQueries: OutcomeQueries;
  readonly delivery: DeviceDelivery;
  /** Maximum size of the deployments of one account in the store, in bytes. */
  readonly maxAccountBytes: number;
}

/** Applies the frames of devices to the records of deployments, and replies to them. */
export class RecordingDeploymentHandler implements DeploymentHandler {
  readonly #store: DeploymentStore;
  readonly #recorder: Recorder;
  readonly #outcomeQueries: OutcomeQueries;
  readonly #delivery: DeviceDelivery;
  readonly #maxAccountBytes: number;

  constructor({ store, recorder, outcomeQueries, delivery, maxAccountBytes }: DeploymentHandlerOptions) {
    this.#store = store;
    this.#recorder = recorder;
    this.#outcomeQueries = outcomeQueries;
    this.#delivery = delivery;
    this.#maxAccountBytes = maxAccountBytes;
  }

  async onConnected(session: DeviceSession, held: readonly string[]): Promise<number> {
    const { epoch } = session;
    await this.#forgetUndone(session, new Set(held));
    const unfinished = await this.#store.listUnfinishedSummaries(session.assetUuid);
    const known: { id: string; deployment: DeploymentSummary | undefined }[] = [];
    for (const id of new Set(held)) known.push({ id, deployment: await this.#findOwnDeployment(session, id) });
    const uncertain: Deployment[] = [];
    for (const action of reconcile(unfinished, known)) {
      const { kind, deploymentId } = action;
      if (kind === "confirm") {
        await this.#recorder.update(deploymentId, (current, nowMs) => confirmOnDevice(current, nowMs, epoch), session);
      } else if (kind === "cancel") {
        this.#delivery.cancel(session, deploymentId, action.reason);
      } else {
        const after = await this.#recorder.update(
          deploymentId,
          (current, nowMs) => markForOutcomeQuery(current, nowMs, epoch),
          session,
        );
        if (after) uncertain.push(after);
      }
    }
    await this.#outcomeQueries.queryOutcomes(session, uncertain);
    return unfinished.length;
  }

  deliver(session: DeviceSession): Promise<void> {
    return this.#delivery.deliver(session);
  }

  onRevoked(session: DeviceSession): Promise<void> {
    return this.#delivery.deliverCancellations(session);
  }

  async onDisconnected(session: Pick<DeviceSession, "assetUuid" | "epoch">): Promise<void> {
    try {
      for (const { id } of await this.#store.listUnfinishedSummaries(session.assetUuid)) {
        await this.#recorder.update(id, (current, nowMs) => noteConnectionLost(current, nowMs, session.epoch), session);
      }
    } catch (error) {
      // The device has connected again: nothing is lost.
      if (!(error instanceof StaleSessionError)) throw error;
    }
  }

  async onAck(session: DeviceSession, deploymentId: string): Promise<FrameOutcome> {
    const deployment = await this.#store.findSummary(deploymentId);
    if (!deployment) return "unknown";
    if (deployment.assetUuid !== session.assetUuid) return this.#cancelUnknown(session, deploymentId);
    const after = await this.#recorder.update(
      deploymentId,
      (current, nowMs) => acknowledge(current, nowMs, session.epoch),
      session,
    );
    const reason = after && cancelReason(after);
    if (reason) this.#delivery.cancel(session, deploymentId, reason);
    return "taken";
  }

  async onRefuse(
    session: DeviceSession,
    deploymentId: string,
    code: ErrorCode,
    message: string,
  ): Promise<FrameOutcome> {
    const deployment = await this.#store.findDeployment(deploymentId);
    if (!deployment) return "unknown";
    if (deployment.assetUuid !== session.assetUuid) return "foreign";
    await this.#recorder.update(deploymentId, (current, nowMs) => refuse(current, nowMs, code, message), session);
    return "taken";
  }

  async onEvent(session: DeviceSession, deploymentId: string, event: DeviceEvent): Promise<FrameOutcome> {
    const deployment = await this.#store.findSummary(deploymentId);
    if (!deployment) {
      // Removed by retention while the device was offline, or created after the backup that was restored. The deployment
      // was requested all the same, so the device does not undo it.
      acknowledgeEvent(session, deploymentId, event);
      return "unknown";
    }
    if (deployment.assetUuid !== session.assetUuid) {
      if (event.status !== "Fail") return this.#cancelUnknown(session, deploymentId);
      acknowledgeEvent(session, deploymentId, event);
      return "foreign";
    }
    const after = await this.#recorder.update(
      deploymentId,
      (current, nowMs) => applyDeviceEvent(current, event, nowMs, session.epoch, this.#maxEventBytes(current)),
      session,
    );
    if (after && replyToEvent(after, event) === "cancel") {
      this.#delivery.cancel(session, deploymentId, cancelReason(after) ?? "unknown");
    } else {
      acknowledgeEvent(session, deploymentId, event);
    }
    return "taken";
  }

  /** Settles cancellations of ended deployments that the device, which has just listed those it holds, has undone. */
  async #forgetUndone(session: DeviceSession, held: ReadonlySet<string>): Promise<void> {
    for (const { id, status } of await this.#store.listUndelivered(session.assetUuid, session)) {
      if (status === "Running" || held.has(id)) continue;
      await this.#recorder.update(
        id,
        (current) => (isFinished(current) ? withoutDelivery(current) : undefined),
        session,
      );
    }
  }

  #maxEventBytes({ accountStoredBytes }: Deployment): number {
    return accountStoredBytes < this.#maxAccountBytes ? MAX_EVENT_BYTES : MAX_EVENT_BYTES_OVER_QUOTA;
  }

  async #findOwnDeployment(session: DeviceSession, id: string): Promise<DeploymentSummary | undefined> {
    const deployment = await this.#store.findSummary(id);
    return deployment?.assetUuid === session.assetUuid ? deployment : undefined;
  }

  /** Rejects a frame about a deployment of another device. */
  #cancelUnknown(session: DeviceSession, deploymentId: string): FrameOutcome {
    session.send({ type: "cancel", deployment_id: deploymentId, reason: "unknown" });
    return "foreign";
  }
}

function acknowledgeEvent(session: DeviceSession, deploymentId: string, { device_seq }: DeviceEvent): void {
  session.send({ type: "event_ack", deployment_id: deploymentId, device_seq });
}
