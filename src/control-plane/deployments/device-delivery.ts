import { nextDelivery } from "../core/delivery.ts";
import type { Delivery } from "../core/deployment.ts";
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
  /** What was sent in a session and is not settled, by deployment. Nothing is sent twice in one session. */
  readonly #sent = new WeakMap<DeviceSession, Map<string, Delivery>>();

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
      if (nextDelivery(deployment, this.#sentOf(session, deployment.id)) === "cancel" && reason)
        this.cancel(session, deployment.id, reason);
    }
  }

  /** Tells the device to undo a deployment. */
  cancel(session: DeviceSession, deploymentId: string, reason: CancelReason): void {
    this.#markSent(session, deploymentId, "cancel");
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
    for (const deployment of waiting) {
      const { id } = deployment;
      const next = nextDelivery(deployment, this.#sentOf(session, id));
      if (next === "command" && (await this.#dispatcher.send(session, deployment)))
        this.#markSent(session, id, "command");
      const reason = next === "cancel" ? cancelReason(deployment) : undefined;
      if (!reason) continue;
      this.cancel(session, id, reason);
      if (reason === "not_reachable") session.checkLiveness();
    }
  }

  #sentOf(session: DeviceSession, deploymentId: string): Delivery | undefined {
    return this.#sent.get(session)?.get(deploymentId);
  }

  #markSent(session: DeviceSession, deploymentId: string, delivery: Delivery): void {
    const sent = this.#sent.get(session) ?? new Map<string, Delivery>();
    this.#sent.set(session, sent.set(deploymentId, delivery));
  }

  #forgetSettled(session: DeviceSession, waiting: ReadonlySet<string>): void {
    const sent = this.#sent.get(session);
    if (!sent) return;
    for (const id of sent.keys()) if (!waiting.has(id)) sent.delete(id);
    // Most sessions have nothing waiting most of the time.
    if (sent.size === 0) this.#sent.delete(session);
  }
}
