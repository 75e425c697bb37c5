import type { RegistryAuth } from "../../protocol/deploy-request.ts";
import { type Deployment, isFinished } from "../core/deployment.ts";

/**
 * Registry credentials on their way to a device. They are in memory only, until the device holds the command or it has
 * ended: whoever reads the database finds none, and a restart loses those that were not delivered.
 */
export class CredentialCache {
  readonly #byDeployment = new Map<string, RegistryAuth>();

  set(deploymentId: string, auth: RegistryAuth): void {
    this.#byDeployment.set(deploymentId, auth);
  }

  find(deploymentId: string): RegistryAuth | undefined {
    return this.#byDeployment.get(deploymentId);
  }

  drop(deploymentId: string): void {
    this.#byDeployment.delete(deploymentId);
  }

  /** Drops those the deployment does not need any more. */
  evictIfDelivered(deployment: Deployment): void {
    if (deployment.acknowledgedAtMs !== undefined || isFinished(deployment)) this.drop(deployment.id);
  }
}
