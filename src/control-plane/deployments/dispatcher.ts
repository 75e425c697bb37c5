import type { RegistryAuth } from "../../protocol/deploy-request.ts";
import { requiredFeatures } from "../../protocol/features.ts";
import { commandFrame, tooOldMessage } from "../core/command.ts";
import type { Deployment, DeploymentChange } from "../core/deployment.ts";
import { fail } from "../core/transitions.ts";
import { isWaitingForPlan, waitForPlan } from "../core/sims/plan-obstacle.ts";
import { endWaitToSend, wasNeverSent } from "../core/waiting.ts";
import type { DeviceGateway } from "../gateway/device-gateway.ts";
import type { PlanGate } from "./plan-gate.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { Recorder } from "./recorder.ts";

export interface DispatcherOptions {
  readonly store: DeploymentStore;
  readonly recorder: Recorder;
  readonly credentials: CredentialCache;
  /** Reaches the credentials that other instances have. */
  readonly gateway: Pick<DeviceGateway, "credentials">;
  readonly planGate: Pick<PlanGate, "findObstacle">;
}

/** Sends commands to devices. Fails deployments that the device would misunderstand, or whose credentials are lost. */
export class Dispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /**
   * Sends the command of a deployment, unless the device must not have it any more. Returns whether it was sent. If the
   * deployment ends at the same time, the acknowledgement is answered with `cancel`.
   *
   * @param isOutdated whether the device has been told something later by the time the command has been read
   */
  async send(
    session: DeviceSession,
    { id, hasRegistryAuth }: Pick<Deployment, "id" | "hasRegistryAuth">,
    isOutdated: () => boolean,
  ): Promise<boolean> {
    const auth = hasRegistryAuth ? await this.#findCredentials(id) : undefined;
    const deployment = await this.#options.store.findDeployment(id);
    if (deployment?.delivery !== "command" || deployment.uncertainty !== undefined) return false;
    const missing = requiredFeatures(deployment).filter(({ feature }) => !session.supports(feature));
    if (missing.length > 0) {
      const details = { features: [...new Set(missing.map(({ feature }) => feature))] };
      const message = tooOldMessage(missing);
      await this.#failUnsent(session, id, (current, now) => fail(current, now, "DeviceTooOld", message, details));
      return false;
    }
    if (hasRegistryAuth && !auth) {
      await this.#failUnsent(session, id, (current, now) => fail(current, now, "RegistryAuthLost"));
      return false;
    }
    if (isOutdated()) return false;
    session.send(commandFrame(deployment, auth, (feature) => session.supports(feature)));
    return true;
  }

  /** Keeps a deployment that waits back, and says so once, if a data plan makes it wait. Returns whether it does. */
  async holdForPlan(session: DeviceSession, id: string): Promise<boolean> {
    const { store, planGate, recorder } = this.#options;
    const deployment = await store.findDeployment(id);
    const obstacle = deployment && (await planGate.findObstacle(deployment));
    if (!deployment || obstacle?.effect !== "wait") return false;
    if (!isWaitingForPlan(deployment)) {
      const decide = (current: Deployment, nowMs: number): DeploymentChange | undefined =>
        wasNeverSent(current) && !isWaitingForPlan(current) ? waitForPlan(current, nowMs, obstacle) : undefined;
      await recorder.update(id, decide, session);
    }
    return true;
  }

  /** Ends the wait of a deployment for the device, which is connected. */
  async endWait(session: DeviceSession, id: string): Promise<void> {
    await this.#options.recorder.update(
      id,
      (current, nowMs) => (current.delivery === "command" ? endWaitToSend(current, nowMs) : undefined),
      session,
    );
  }

  /** Ends a cancelled deployment of which the device has received nothing. */
  async endUnsent(session: DeviceSession, id: string): Promise<void> {
    await this.#options.recorder.update(id, endCancelled, session);
  }

  async #findCredentials(id: string): Promise<RegistryAuth | undefined> {
    const { credentials, gateway } = this.#options;
    return credentials.find(id) ?? (await gateway.credentials(id));
  }

  /** Fails a deployment of which the device has received nothing. */
  async #failUnsent(
    session: DeviceSession,
    id: string,
    fails: (deployment: Deployment, nowMs: number) => DeploymentChange | undefined,
  ): Promise<void> {
    const decide = (current: Deployment, nowMs: number): DeploymentChange | undefined => {
      const change = current.delivery === "command" ? fails(current, nowMs) : undefined;
      return change && { ...change, fields: { ...change.fields, delivery: undefined } };
    };
    await this.#options.recorder.update(id, decide, session);
  }
}

function endCancelled(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const { delivery, acknowledgedAtMs, uncertainty } = deployment;
  if (delivery !== "cancel" || acknowledgedAtMs !== undefined || uncertainty !== undefined) return undefined;
  const change = fail(deployment, nowMs, "DeploymentCancelled");
  return change && { ...change, fields: { ...change.fields, delivery: undefined } };
}
