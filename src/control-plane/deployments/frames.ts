import type { DeviceEvent } from "../../protocol/deployments/deployment-event.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import { cancelReason, reconcile } from "../core/delivery.ts";
import { type Deployment, type DeploymentSummary, isFinished } from "../core/deployment.ts";
import type { Fact } from "../core/next.ts";
import { replyToEvent } from "../core/transitions.ts";
import { type DeploymentStore, MAX_UNDELIVERED } from "../store/deployments.ts";
import { StaleSessionError } from "../store/sessions.ts";
import type { DeploymentHandler, FrameOutcome } from "../devices/handlers.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { DeviceDelivery } from "./delivery.ts";
import type { DeploymentExecutor } from "./executor.ts";
import type { OutcomeQueries } from "./outcome-queries.ts";

export interface DeploymentFramesOptions {
  readonly store: DeploymentStore;
  readonly executor: DeploymentExecutor;
  readonly outcomeQueries: OutcomeQueries;
  readonly delivery: DeviceDelivery;
  /** Maximum size of the deployments of one account in the store, in bytes. */
  readonly maxAccountBytes: number;
}

/** Applies the frames of devices to the records of deployments, and replies to them. */
export class DeploymentFrames implements DeploymentHandler {
  readonly #store: DeploymentStore;
  readonly #executor: DeploymentExecutor;
  readonly #outcomeQueries: OutcomeQueries;
  readonly #delivery: DeviceDelivery;
  readonly #maxAccountBytes: number;

  constructor({ store, executor, outcomeQueries, delivery, maxAccountBytes }: DeploymentFramesOptions) {
    this.#store = store;
    this.#executor = executor;
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
        await this.#executor.apply(deploymentId, { kind: "held", epoch }, session);
      } else if (kind === "cancel") {
        this.#delivery.cancel(session, deploymentId, action.reason);
      } else {
        const applied = await this.#executor.apply(deploymentId, { kind: "missing", epoch }, session);
        if (applied) uncertain.push(applied.deployment);
      }
    }
    await this.#outcomeQueries.queryOutcomes(session, uncertain);
    return unfinished.length;
  }

  async onDisconnected(session: Pick<DeviceSession, "assetUuid" | "epoch">): Promise<void> {
    const { epoch } = session;
    try {
      for (const { id } of await this.#store.listUnfinishedSummaries(session.assetUuid)) {
        await this.#executor.apply(id, { kind: "session_lost", epoch }, session);
      }
    } catch (error) {
      // The device has connected again: nothing is lost.
      if (!(error instanceof StaleSessionError)) throw error;
    }
  }

  async onAck(session: DeviceSession, deploymentId: string): Promise<FrameOutcome> {
    const after = await this.#apply(session, deploymentId, { kind: "acknowledged", epoch: session.epoch });
    if (!after) return "unknown";
    if (after.assetUuid !== session.assetUuid) return this.#cancelUnknown(session, deploymentId);
    const reason = cancelReason(after);
    if (reason) this.#delivery.cancel(session, deploymentId, reason);
    return "taken";
  }

  async onRefuse(
    session: DeviceSession,
    deploymentId: string,
    code: ErrorCode,
    message: string,
  ): Promise<FrameOutcome> {
    const after = await this.#apply(session, deploymentId, { kind: "refused", code, message });
    if (!after) return "unknown";
    return after.assetUuid === session.assetUuid ? "taken" : "foreign";
  }

  async onEvent(session: DeviceSession, deploymentId: string, event: DeviceEvent): Promise<FrameOutcome> {
    const { epoch } = session;
    const maxAccountBytes = this.#maxAccountBytes;
    const after = await this.#apply(session, deploymentId, { kind: "event", event, epoch, maxAccountBytes });
    if (!after) {
      // Removed by retention while the device was offline, or created after the backup that was restored. The deployment
      // was requested all the same, so the device does not undo it.
      acknowledgeEvent(session, deploymentId, event);
      return "unknown";
    }
    if (after.assetUuid !== session.assetUuid) {
      if (event.status !== "Fail") return this.#cancelUnknown(session, deploymentId);
      acknowledgeEvent(session, deploymentId, event);
      return "foreign";
    }
    if (replyToEvent(after, event) === "cancel") {
      this.#delivery.cancel(session, deploymentId, cancelReason(after) ?? "unknown");
    } else {
      acknowledgeEvent(session, deploymentId, event);
    }
    return "taken";
  }

  /** Returns the deployment afterwards. That of another device stays as it is. */
  async #apply(session: DeviceSession, deploymentId: string, fact: Fact): Promise<Deployment | undefined> {
    return (await this.#executor.apply(deploymentId, fact, session))?.deployment;
  }

  /** Settles cancellations of ended deployments that the device, which has just listed those it holds, has undone. */
  async #forgetUndone(session: DeviceSession, held: ReadonlySet<string>): Promise<void> {
    for (;;) {
      const waiting = await this.#store.listUndelivered(session.assetUuid, session);
      const undone = waiting.filter((deployment) => isFinished(deployment) && !held.has(deployment.id));
      for (const { id } of undone) await this.#executor.apply(id, { kind: "undone" }, session);
      // What comes after a full list would not be delivered: nothing wakes for it.
      if (waiting.length < MAX_UNDELIVERED || undone.length === 0) return;
    }
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
