import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";
import { usedFeatures } from "../../protocol/link/features.ts";
import { commandFrame, tooOldMessage } from "../core/command.ts";
import { type CancelReason, cancelReason, deliveryOf, type DeliveryAction, nextDelivery } from "../core/delivery.ts";
import type { UndeliveredDeployment } from "../core/deployment.ts";
import { isWaitingForDataPlan } from "../core/sims/plan-obstacle.ts";
import type { DeliveryHandler } from "../devices/handlers.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { DeviceGateway } from "../devices/gateway/device-gateway.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeploymentExecutor } from "./executor.ts";
import type { FindObstacle } from "./plan-obstacle.ts";

export interface DeviceDeliveryOptions {
  readonly store: Pick<DeploymentStore, "listUndelivered" | "findDeployment">;
  readonly executor: Pick<DeploymentExecutor, "apply">;
  readonly credentials: Pick<CredentialCache, "find">;
  /** Reaches the credentials that other instances have. */
  readonly gateway: Pick<DeviceGateway, "credentials">;
  readonly findObstacle: FindObstacle;
}

interface Run {
  mustRepeat: boolean;
  done: Promise<void>;
}

/**
 * Brings to a device what waits for it in the store. Requests and cancellations only write, and wake the instance that holds
 * the device's session: a wake-up may be lost, repeated or early, and has no content.
 */
export class DeviceDelivery implements DeliveryHandler {
  readonly #options: DeviceDeliveryOptions;
  /** The deliveries in progress. Those of one session do not overlap. */
  readonly #runs = new Map<DeviceSession, Run>();
  /** What was done last in a session about what is not settled, by deployment. Nothing is sent twice in one session. */
  readonly #done = new WeakMap<DeviceSession, Map<string, DeliveryAction>>();

  constructor(options: DeviceDeliveryOptions) {
    this.#options = options;
  }

  /**
   * Sends what waits for the device. Must not be called before the session is reconciled. Resolves when everything is sent
   * that was stored before the call. Error: `StaleSessionError`.
   */
  deliver(session: DeviceSession): Promise<void> {
    const current = this.#runs.get(session);
    if (current) {
      current.mustRepeat = true;
      return current.done;
    }
    const run: Run = { mustRepeat: false, done: Promise.resolve() };
    this.#runs.set(session, run);
    run.done = this.#run(session, run);
    return run.done;
  }

  /** Sends what a device has to undo whose access was revoked, such as with its asset. It gets no commands. */
  async deliverCancellations(session: DeviceSession): Promise<void> {
    for (const deployment of await this.#options.store.listUndelivered(session.assetUuid)) {
      const reason = cancelReason(deployment);
      if (nextDelivery(deployment, this.#doneOf(session, deployment.id)) === "cancel" && reason)
        this.cancel(session, deployment.id, reason);
    }
  }

  /** Tells the device to undo a deployment. */
  cancel(session: DeviceSession, deploymentId: string, reason: CancelReason): void {
    this.#markDone(session, deploymentId, "cancel");
    session.send({ type: "cancel", deployment_id: deploymentId, reason });
  }

  async #run(session: DeviceSession, run: Run): Promise<void> {
    try {
      do {
        run.mustRepeat = false;
        await this.#deliverAll(session);
      } while (run.mustRepeat);
    } finally {
      this.#runs.delete(session);
    }
  }

  async #deliverAll(session: DeviceSession): Promise<void> {
    if (!session.isCurrent) return;
    const waiting = await this.#options.store.listUndelivered(session.assetUuid, session);
    this.#forgetSettled(session, new Set(waiting.map(({ id }) => id)));
    for (const deployment of waiting) await this.#deliverOne(session, deployment);
  }

  async #deliverOne(session: DeviceSession, deployment: UndeliveredDeployment): Promise<void> {
    const { id } = deployment;
    const action = nextDelivery(deployment, this.#doneOf(session, id));
    if (action === "end_wait") {
      if (await this.#isHeldForPlan(session, id)) return;
      await this.#options.executor.apply(id, { kind: "device_ready" }, session);
    }
    if ((action === "end_wait" || action === "command") && (await this.#send(session, deployment))) {
      this.#markDone(session, id, "command");
    }
    if (action === "end") await this.#options.executor.apply(id, { kind: "never_sent" }, session);
    const reason = action === "cancel" ? cancelReason(deployment) : undefined;
    if (reason) this.cancel(session, id, reason);
    if (action === "probe") this.#markDone(session, id, "probe");
    if (action === "probe" || reason === "not_reachable") session.checkLiveness();
  }

  /** Keeps a deployment that waits back, and says so once, if a data plan makes it wait. */
  async #isHeldForPlan(session: DeviceSession, id: string): Promise<boolean> {
    const { store, findObstacle, executor } = this.#options;
    const deployment = await store.findDeployment(id);
    const obstacle = deployment && (await findObstacle(deployment));
    if (!deployment || obstacle?.effect !== "wait") return false;
    if (!isWaitingForDataPlan(deployment)) await executor.apply(id, { kind: "plan_spent", obstacle }, session);
    return true;
  }

  /**
   * Sends the command of a deployment, unless the device must not have it any more. Returns whether it was sent. Fails one
   * that the device would misunderstand, or whose credentials are lost. If the deployment ends at the same time, the
   * acknowledgement is answered with `cancel`.
   */
  async #send(session: DeviceSession, { id, hasRegistryAuth }: UndeliveredDeployment): Promise<boolean> {
    const { store, executor } = this.#options;
    const auth = hasRegistryAuth ? await this.#findCredentials(id) : undefined;
    // The list is without specifications, which may be large.
    const deployment = await store.findDeployment(id);
    if (!deployment || deliveryOf(deployment) !== "command") return false;
    const missing = usedFeatures(session.unknownFeatures, { ...deployment, ...deployment.command });
    if (missing.length > 0) {
      const message = tooOldMessage(missing);
      const details = { features: missing };
      await executor.apply(id, { kind: "unsendable", code: "DeviceTooOld", message, details }, session);
      return false;
    }
    if (hasRegistryAuth && !auth) {
      await executor.apply(id, { kind: "unsendable", code: "RegistryAuthLost" }, session);
      return false;
    }
    // A device ignores the cancellation of what it does not have, so that the command must not follow it.
    if (!session.isCurrent || this.#doneOf(session, id) === "cancel") return false;
    session.send(commandFrame(deployment, auth, session.unknownFeatures));
    return true;
  }

  async #findCredentials(id: string): Promise<RegistryAuth | undefined> {
    const { credentials, gateway } = this.#options;
    return credentials.find(id) ?? (await gateway.credentials(id));
  }

  #doneOf(session: DeviceSession, deploymentId: string): DeliveryAction | undefined {
    return this.#done.get(session)?.get(deploymentId);
  }

  #markDone(session: DeviceSession, deploymentId: string, action: DeliveryAction): void {
    const done = this.#done.get(session) ?? new Map<string, DeliveryAction>();
    this.#done.set(session, done.set(deploymentId, action));
  }

  #forgetSettled(session: DeviceSession, waiting: ReadonlySet<string>): void {
    const done = this.#done.get(session);
    if (!done) return;
    for (const id of done.keys()) if (!waiting.has(id)) done.delete(id);
    // Most sessions have nothing waiting most of the time.
    if (done.size === 0) this.#done.delete(session);
  }
}
