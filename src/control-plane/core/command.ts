import type { RequestedAppSpec } from "../../protocol/apps/app-spec.ts";
import type { AppUpdate } from "../../protocol/apps/app-update.ts";
import type { AppliedApp } from "../../protocol/apps/apply.ts";
import type { AgentUpdate } from "../../protocol/agents/agent-update.ts";
import type { DeployOptions, RegistryAuth } from "../../protocol/apps/deploy-request.ts";
import { withoutAbsent } from "../../protocol/link/features.ts";
import type { ControlFrame } from "../../protocol/link/frames.ts";

/** What a deployment does, with its specification: as it was requested, or masked. */
export type Command =
  | { readonly action: "deploy"; readonly spec: RequestedAppSpec }
  /** The fields that change. */
  | { readonly action: "update"; readonly spec: AppUpdate }
  | { readonly action: "apply"; readonly spec: Group }
  | { readonly action: "update_agent"; readonly spec: AgentUpdate }
  | { readonly action: "remove" | "stop" | "start" | "restart"; readonly spec: null };

/** The apps that are applied together. What it says beside these is for the device only. */
interface Group {
  readonly project: string;
  readonly apps: readonly { readonly app: AppliedApp }[];
  readonly remove?: readonly string[];
}

/** A requested change of one app, or of a group. */
export interface AppCommand {
  readonly command: Command;
  /** The app, or the project of a group; `AGENT_APP` for the agent itself. */
  readonly app: string;
  readonly options: DeployOptions;
  /** How long to wait for a device that is not connected, in seconds; `undefined`: not at all. */
  readonly waitForDeviceS?: number | undefined;
}

/** What a device is sent of a deployment. */
interface SentCommand {
  readonly id: string;
  readonly app: string;
  readonly command: Command;
  readonly options: Omit<DeployOptions, "registry_auth">;
}

/**
 * Returns the frame that sends the deployment to its device, which must have the features it uses.
 *
 * @param unknown the features that the device does not have
 */
export function commandFrame(
  { id, app, command, options: recorded }: SentCommand,
  registryAuth: RegistryAuth | undefined,
  unknown: ReadonlySet<string>,
): ControlFrame {
  const known = (spec: unknown): unknown => withoutAbsent(spec, unknown);
  const given = { ...recorded, ...(registryAuth && { registry_auth: registryAuth }) };
  const options = Object.keys(given).length > 0 && { options: given };
  switch (command.action) {
    case "apply": {
      const request = {
        ...command.spec,
        apps: command.spec.apps.map((entry) => ({ ...entry, app: known(entry.app) })),
      };
      return { type: "apply", deployment_id: id, request, ...options };
    }
    case "update_agent":
      return { type: "update_agent", deployment_id: id, request: command.spec, ...options };
    case "deploy":
      return { type: "deploy", deployment_id: id, spec: known(command.spec), ...options };
    case "update":
      return { type: "command", deployment_id: id, action: "update", app, spec: known(command.spec), ...options };
    case "remove":
    case "stop":
    case "start":
    case "restart":
      return { type: "command", deployment_id: id, action: command.action, app, ...options };
  }
}

/** Returns how many apps a command names: those of a group, else one. Times are allowed for each. */
export function countApps(command: Command): number {
  return command.action === "apply" ? Math.max(1, command.spec.apps.length + removedNames(command).length) : 1;
}

/**
 * Returns the image that the specification of an app, or a change of it, names, or that of a release of the agent, which the
 * service itself may serve; `undefined` for a group or without one.
 */
export function imageOf(command: Command): string | undefined {
  if (command.action === "update_agent")
    return command.spec.image ?? `${command.spec.served?.repository}:${command.spec.version}`;
  return command.action === "deploy" || command.action === "update" ? command.spec.image : undefined;
}

/** Returns the names of the apps that a group applies, without those it removes; `undefined` for other actions. */
export function appliedNames(command: Command): readonly string[] | undefined {
  return command.action === "apply" ? command.spec.apps.map(({ app }) => app.name) : undefined;
}

/** Returns the names of the apps that a group removes. */
export function removedNames(command: Command): readonly string[] {
  return command.action === "apply" ? (command.spec.remove ?? []) : [];
}

/** Maximum number of parts of a request that a message names. */
const MAX_NAMED = 8;

/** Returns the message of a `DeviceTooOld`. @param missing the features that the device does not have */
export function tooOldMessage(missing: readonly string[]): string {
  const named = missing.slice(0, MAX_NAMED).map((feature) => `"${feature}"`);
  const omitted = missing.length - named.length;
  const names = [...named, ...(omitted > 0 ? [`${omitted} more`] : [])];
  const list = names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names.join("");
  return `The agent on the device is too old for this request: it does not know ${list}.`;
}
