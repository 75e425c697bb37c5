import { withoutUnknownNulls } from "../../protocol/added-fields.ts";
import { appliedApps, mapAppliedApps, removedApps } from "../../protocol/applied-apps.ts";
import type { DeployOptions, RegistryAuth } from "../../protocol/deploy-request.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import type { ProtocolFeature, RequiredFeature } from "../../protocol/features.ts";
import type { ControlFrame } from "../../protocol/frames.ts";
import type { Deployment } from "./deployment.ts";

/** A requested change of one app, or of a group. */
export interface AppCommand {
  readonly action: DeploymentAction;
  /** The app, or the project of a group. */
  readonly app: string;
  /** The app for a deployment, the changes for an update, the group for an apply, `null` for other actions. */
  readonly spec: unknown;
  readonly options: DeployOptions;
  /** How long to wait for a device that is not connected, in seconds; `undefined`: not at all. */
  readonly waitForDeviceS?: number | undefined;
}

/**
 * Returns the frame that sends the deployment to its device, which must have the features it requires.
 *
 * @param supports whether the device has a feature
 */
export function commandFrame(
  deployment: Deployment,
  registryAuth: RegistryAuth | undefined,
  supports: (feature: ProtocolFeature) => boolean,
): ControlFrame {
  const { id, action, app } = deployment;
  const known = (app: unknown): unknown => withoutUnknownNulls(app, supports);
  const spec = action === "apply" ? mapAppliedApps(deployment.spec, known) : known(deployment.spec);
  const given = { ...deployment.options, ...(registryAuth && { registry_auth: registryAuth }) };
  const options = Object.keys(given).length > 0 && { options: given };
  if (action === "apply") return { type: "apply", deployment_id: id, request: spec, ...options };
  if (action === "deploy") return { type: "deploy", deployment_id: id, spec, ...options };
  return { type: "command", deployment_id: id, action, app, ...(spec !== null && { spec }), ...options };
}

/** Returns how many apps a command names: those of a group, else one. Times are allowed for each. */
export function countApps({ action, spec }: Pick<AppCommand, "action" | "spec">): number {
  return action === "apply" ? Math.max(1, appliedApps(spec).length + removedApps(spec).length) : 1;
}

/** Returns the image that the specification of an app, or a change of it, names; `undefined` for a group or without one. */
export function imageOf({ spec }: Pick<AppCommand, "spec">): string | undefined {
  return textOf(spec, "image");
}

/** Returns the names of the apps that a group applies, without those it removes; `undefined` for other actions. */
export function appliedNames({ action, spec }: Pick<AppCommand, "action" | "spec">): string[] | undefined {
  return action === "apply" ? appliedApps(spec).flatMap((app) => textOf(app, "name") ?? []) : undefined;
}

/** What is on record may be masked, or of another release: it is not taken for what a request is. */
function textOf(spec: unknown, field: "image" | "name"): string | undefined {
  if (typeof spec !== "object" || spec === null || !(field in spec)) return undefined;
  const value: unknown = Reflect.get(spec, field);
  return typeof value === "string" ? value : undefined;
}

/** Maximum number of parts of a request that a message names. */
const MAX_NAMED = 8;

/** Returns the message of a `DeviceTooOld`, which names what the device does not know. */
export function tooOldMessage(missing: readonly RequiredFeature[]): string {
  const named = missing.slice(0, MAX_NAMED).map(({ usedBy }) => `"${usedBy}"`);
  const omitted = missing.length - named.length;
  const names = [...named, ...(omitted > 0 ? [`${omitted} more`] : [])];
  const list = names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names.join("");
  return `The agent on the device is too old for this request: it does not know ${list}.`;
}
