import type { DeployOptions, RegistryAuth } from "../../protocol/deploy-request.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import type { ControlFrame } from "../../protocol/frames.ts";
import type { Deployment } from "./deployment.ts";

/** A requested change of one app. */
export interface AppCommand {
  readonly action: DeploymentAction;
  readonly app: string;
  /** The app for a deployment, the changes for an update, `null` for other actions. */
  readonly spec: unknown;
  readonly options: DeployOptions;
}

/** Returns the frame that sends the deployment to its device. */
export function commandFrame(deployment: Deployment, registryAuth: RegistryAuth | undefined): ControlFrame {
  const { id, action, app, spec } = deployment;
  const given = { ...deployment.options, ...(registryAuth && { registry_auth: registryAuth }) };
  const options = Object.keys(given).length > 0 && { options: given };
  if (action === "deploy") return { type: "deploy", deployment_id: id, spec, ...options };
  return { type: "command", deployment_id: id, action, app, ...(spec !== null && { spec }), ...options };
}
