import { appExtras } from "../../protocol/app-extras.ts";
import type { DeployOptions, RegistryAuth } from "../../protocol/deploy-request.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import type { ControlFrame } from "../../protocol/frames.ts";
import type { Deployment } from "./deployment.ts";

/** What a client asks the device to do to one app. */
export interface AppCommand {
  readonly action: DeploymentAction;
  readonly app: string;
  /** The app for a deployment, what changes for an update, `null` for all else. */
  readonly spec: unknown;
  readonly options: DeployOptions;
}

/** The first version of the protocol that has actions other than `deploy`, options, and the later fields of an app. */
const MIN_COMMANDS_PROTOCOL = 2;

/** The frame that tells the device. */
export function commandFrame(deployment: Deployment, registryAuth: RegistryAuth | undefined): ControlFrame {
  const { id, action, app, spec } = deployment;
  const given = { ...deployment.options, ...(registryAuth && { registry_auth: registryAuth }) };
  const options = Object.keys(given).length > 0 && { options: given };
  if (action === "deploy") return { type: "deploy", deployment_id: id, spec, ...options };
  return { type: "command", deployment_id: id, action, app, ...(spec !== null && { spec }), ...options };
}

/** The oldest protocol in which a device understands the deployment for what it is. */
export function requiredProtocol({ action, spec, options, hasRegistryAuth }: Deployment): number {
  const isPlain = action === "deploy" && Object.keys(options).length === 0 && !hasRegistryAuth && !hasExtraFields(spec);
  return isPlain ? 1 : MIN_COMMANDS_PROTOCOL;
}

function hasExtraFields(spec: unknown): boolean {
  if (typeof spec !== "object" || spec === null) return false;
  const { ports } = spec as { ports?: unknown };
  const hasPortProtocol = Array.isArray(ports) && ports.some((port: object) => "protocol" in port);
  return hasPortProtocol || Object.keys(appExtras).some((field) => field in spec);
}
