import { requiredFeatures } from "../../protocol/features.ts";
import { commandFrame, tooOldMessage } from "../core/command.ts";
import type { Deployment, DeploymentChange } from "../core/deployment.ts";
import { fail } from "../core/transitions.ts";
import type { CredentialCache } from "./credentials.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { Recorder } from "./recorder.ts";

/** Sends commands to devices. Fails deployments that the device would misunderstand, or whose credentials are lost. */
export class Dispatcher {
  readonly #recorder: Recorder;
  readonly #credentials: CredentialCache;

  constructor(recorder: Recorder, credentials: CredentialCache) {
    this.#recorder = recorder;
    this.#credentials = credentials;
  }

  /** Does not check whether the deployment has ended meanwhile: then the acknowledgement is answered with `cancel`. */
  async send(session: DeviceSession, deployment: Deployment): Promise<void> {
    const { id, hasRegistryAuth } = deployment;
    const missing = requiredFeatures(deployment).filter(({ feature }) => !session.supports(feature));
    if (missing.length > 0) {
      const details = { features: [...new Set(missing.map(({ feature }) => feature))] };
      const message = tooOldMessage(missing);
      await this.#failUnsent(id, (current, nowMs) => fail(current, nowMs, "DeviceTooOld", message, details));
      return;
    }
    const auth = this.#credentials.find(id);
    if (hasRegistryAuth && !auth) {
      await this.#failUnsent(id, (current, nowMs) => fail(current, nowMs, "RegistryAuthLost"));
      return;
    }
    session.send(commandFrame(deployment, auth, (feature) => session.supports(feature)));
  }

  /** Fails a deployment of which the device has received nothing. */
  async #failUnsent(
    id: string,
    fails: (deployment: Deployment, nowMs: number) => DeploymentChange | undefined,
  ): Promise<void> {
    await this.#recorder.update(id, (current, nowMs) => {
      const change = fails(current, nowMs);
      return change && { ...change, fields: { ...change.fields, delivery: undefined } };
    });
  }
}
