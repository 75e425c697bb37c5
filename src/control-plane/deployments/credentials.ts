import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";

/**
 * Registry credentials until the device has acknowledged the command, or the deployment has ended. Kept in memory only:
 * the database never has them, and a restart loses those not delivered yet.
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
}
