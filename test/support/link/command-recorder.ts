import type { ChangeRequest } from "../../../src/agent/core/deployment/accept.ts";
import type { CommandHandler } from "../../../src/agent/link/ports.ts";

/** Records the commands it receives. */
export class CommandRecorder implements CommandHandler {
  readonly deployed: { readonly id: string; readonly spec: unknown }[] = [];
  readonly cancelled: { readonly id: string; readonly reason: string }[] = [];
  readonly changed: { readonly id: string; readonly request: ChangeRequest }[] = [];
  readonly applied: { readonly id: string; readonly request: unknown }[] = [];
  /** The open deployments in `hello`. */
  open: readonly string[] = [];
  /** Called with each deployment before it is recorded; may throw. */
  onDeploy: (deploymentId: string) => void = () => undefined;

  deploy(deploymentId: string, spec: unknown): void {
    this.onDeploy(deploymentId);
    this.deployed.push({ id: deploymentId, spec });
  }

  change(deploymentId: string, request: ChangeRequest): void {
    this.onDeploy(deploymentId);
    this.changed.push({ id: deploymentId, request });
  }

  apply(deploymentId: string, request: unknown): void {
    this.onDeploy(deploymentId);
    this.applied.push({ id: deploymentId, request });
  }

  updateAgent(deploymentId: string, request: unknown): void {
    this.onDeploy(deploymentId);
    this.applied.push({ id: deploymentId, request });
  }

  cancel(deploymentId: string, reason: string): void {
    this.cancelled.push({ id: deploymentId, reason });
  }

  openDeployments(): readonly string[] {
    return this.open;
  }
}
