import { type DeliveryStep, nextDelivery } from "../core/delivery.ts";
import type { UndeliveredDeployment } from "../core/deployment.ts";
import { type CancelReason, cancelReason } from "../core/reconcile.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import type { Dispatcher } from "./dispatcher.ts";

interface Run {
  mustRepeat: boolean;
  done: Promise<void>;
}

/**
 * Brings to a device what waits for it in the store. Requests and cancellations only write, and wake the instance that holds
 * the device's session: a wake-up may be lost, repeated or early, and has no content.
 */
export class DeviceDelivery {
  readonly #store: DeploymentStore;
  readonly #dispatcher: Dispatcher;
  /** The deliveries in progress. Those of one session do not overlap. */
  readonly #runs = new Map<DeviceSession, Run>();
  /** What was done last in a session about what is not settled, by deployment. Nothing is sent twice in one session. */
  readonly #done = new WeakMap<DeviceSession, Map<string, DeliveryStep>>();

  constructor(store: DeploymentStore, dispatcher: Dispatcher) {
    this.#store = store;
    this.#dispatcher = dispatcher;
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
    for (const deployment of await this.#store.listUndelivered(session.assetUuid)) {
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
    const waiting = await this.#store.listUndelivered(session.assetUuid, session);
    this.#forgetSettled(session, new Set(waiting.map(({ id }) => id)));
    for (const deployment of waiting) await this.#deliverOne(session, deployment);
  }

  async #deliverOne(session: DeviceSession, deployment: UndeliveredDeployment): Promise<void> {
    const { id } = deployment;
    const step = nextDelivery(deployment, this.#doneOf(session, id));
    if (step === "end_wait") {
      if (await this.#dispatcher.holdForPlan(session, id)) return;
      await this.#dispatcher.endWait(session, id);
    }
    if (step === "end_wait" || step === "command") {
      // A device ignores the cancellation of what it does not have, so that the command must not follow it.
      const isOutdated = (): boolean => !session.isCurrent || this.#doneOf(session, id) === "cancel";
      if (await this.#dispatcher.send(session, deployment, isOutdated)) this.#markDone(session, id, "command");
    }
    if (step === "end") await this.#dispatcher.endUnsent(session, id);
    const reason = step === "cancel" ? cancelReason(deployment) : undefined;
    if (reason) this.cancel(session, id, reason);
    if (step === "probe") this.#markDone(session, id, "probe");
    if (step === "probe" || reason === "not_reachable") session.checkLiveness();
  }

  #doneOf(session: DeviceSession, deploymentId: string): DeliveryStep | undefined {
    return this.#done.get(session)?.get(deploymentId);
  }

  #markDone(session: DeviceSession, deploymentId: string, step: DeliveryStep): void {
    const done = this.#done.get(session) ?? new Map<string, DeliveryStep>();
    this.#done.set(session, done.set(deploymentId, step));
  }

  #forgetSettled(session: DeviceSession, waiting: ReadonlySet<string>): void {
    const done = this.#done.get(session);
    if (!done) return;
    for (const id of done.keys()) if (!waiting.has(id)) done.delete(id);
    // Most sessions have nothing waiting most of the time.
    if (done.size === 0) this.#done.delete(session);
  }
}
