import type { AppSpec } from "../../../protocol/app-spec.ts";
import type { ErrorCode, ErrorDetails } from "../../../protocol/errors.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../protocol/limits.ts";
import { oldVersionName, newVersionName, containerName } from "../app/container.ts";
import { type HostPort, hostPortsOf, includesPort, toHostPort } from "../host/host-port.ts";
import type { PolicyViolation } from "../policy/policy.ts";
import { formatWholeMegabytes } from "../text.ts";
import { findExceededLimit } from "./check-limits.ts";

/** Who holds a port or a name. */
export type Holder =
  | { readonly kind: "app"; readonly name: string }
  | { readonly kind: "deployment"; readonly name: string; readonly deployment_id: string }
  | { readonly kind: "container"; readonly name: string }
  | { readonly kind: "process"; readonly name?: string; readonly pid?: number }
  | { readonly kind: "request" };

/** Another deployment that is going on and was accepted before this one. */
export interface ConcurrentDeployment {
  readonly id: string;
  readonly app: string;
  readonly hostPorts: readonly HostPort[];
}

/** A container on the machine that does not belong to this deployment. */
export interface OtherContainer {
  readonly name: string;
  readonly hostPorts: readonly HostPort[];
  /** Name of the agent's app it belongs to; `undefined` for a foreign container. */
  readonly app: string | undefined;
}

/** What the machine has in all. */
export interface HostCapacity {
  readonly memoryBytes: number;
  readonly cpus: number;
}

/** The machine as far as the checks need it. */
export interface HostState {
  readonly containers: readonly OtherContainer[];
  /** Installed apps, whether they run right now or not: they come back after a reboot. */
  readonly apps: readonly { readonly name: string; readonly hostPorts: readonly HostPort[] }[];
  readonly concurrentDeployments: readonly ConcurrentDeployment[];
  /** Ports a process of the machine listens on, or receives datagrams on. */
  readonly listeningPorts: readonly HostPort[];
  /** Free bytes where the engine keeps images; `undefined` where that cannot be seen. */
  readonly freeBytes: number | undefined;
  readonly reserveBytes: number;
  readonly capacity: HostCapacity;
  /** Device files the request names that are not there, or are none. */
  readonly missingDevices: readonly string[];
  readonly policyViolation: PolicyViolation | undefined;
  /** An update needs further names than a deployment. */
  readonly action: "deploy" | "update";
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message?: string;
  readonly details?: ErrorDetails;
}

/** Every check that can be made before anything is changed; the first that fails. */
export function findRefusal(spec: AppSpec, hostState: HostState): Refusal | undefined {
  return (
    findPortOutOfRange(spec) ??
    findDuplicatePort(spec) ??
    findNameConflict(spec, hostState) ??
    findPolicyDenial(hostState) ??
    findExceededLimit(spec, hostState) ??
    findPortConflict(spec, hostState) ??
    findDiskShortage(hostState)
  );
}

function findPortOutOfRange(spec: AppSpec): Refusal | undefined {
  const wrong = spec.ports.find(({ host_port }) => host_port < MIN_HOST_PORT || host_port > MAX_HOST_PORT);
  return wrong && { code: "ErrorNodePortIsNotCorrectRange", details: { host_port: wrong.host_port } };
}

function findDuplicatePort(spec: AppSpec): Refusal | undefined {
  const ports = spec.ports.map(toHostPort);
  const twice = ports.find((port, index) => includesPort(ports.slice(0, index), port));
  return twice && portInUseRefusal(twice, { kind: "request" });
}

function findNameConflict(spec: AppSpec, around: HostState): Refusal | undefined {
  const rival = around.concurrentDeployments.find(({ app }) => app === spec.name);
  if (rival) {
    return {
      code: "ErrorDeploymentAlreadyExist",
      message: `A deployment of ${spec.name} is already running.`,
      details: { deployment_id: rival.id },
    };
  }
  const isOurs =
    around.apps.some(({ name }) => name === spec.name) || around.containers.some(({ app }) => app === spec.name);
  if (isOurs) return { code: "AppExists", message: `An app named ${spec.name} already exists on the device.` };
  return findAppNameConflict(spec, around) ?? findContainerNameConflict(spec, around);
}

/** Other apps may be without a container at the moment, and come back. */
function findAppNameConflict(
  { name: app }: AppSpec,
  { action, apps, concurrentDeployments }: HostState,
): Refusal | undefined {
  for (const other of [...apps.map(({ name }) => name), ...concurrentDeployments.map((rival) => rival.app)]) {
    if (other === app) continue;
    const container =
      requiredNames(app, "update").find((name) => name === containerName(other)) ??
      // What is there already was let in by a release before, and may stay.
      (action === "deploy" ? requiredNames(other, "update").find((name) => name === containerName(app)) : undefined);
    if (container === undefined) continue;
    return {
      code: "ErrorNameExists",
      message: `Containers of the app ${other} are named ${container}, as one of ${app} would be.`,
      details: { container, app: other },
    };
  }
  return undefined;
}

function findContainerNameConflict({ name: app }: AppSpec, { action, containers }: HostState): Refusal | undefined {
  const needed = requiredNames(app, action);
  const taken = containers.find(({ name }) => needed.includes(name));
  if (!taken) return undefined;
  const owner = taken.app === undefined ? "is not managed by edge-agent" : `belongs to the app ${taken.app}`;
  return {
    code: "ErrorNameExists",
    message: `A container named ${taken.name} exists on the device and ${owner}.`,
    details: { container: taken.name, ...(taken.app !== undefined && { app: taken.app }) },
  };
}

function requiredNames(app: string, action: HostState["action"]): string[] {
  return action === "deploy" ? [containerName(app)] : [containerName(app), newVersionName(app), oldVersionName(app)];
}

function findPolicyDenial({ policyViolation }: HostState): Refusal | undefined {
  if (!policyViolation) return undefined;
  return { code: "PolicyDenied", message: policyViolation.message, details: { rule: policyViolation.rule } };
}

function findPortConflict(spec: AppSpec, around: HostState): Refusal | undefined {
  for (const port of hostPortsOf(spec)) {
    const holder = holderOf(port, around);
    if (holder) return portInUseRefusal(port, holder);
  }
  return undefined;
}

function holderOf(port: HostPort, around: HostState): Holder | undefined {
  const rival = around.concurrentDeployments.find(({ hostPorts }) => includesPort(hostPorts, port));
  if (rival) return { kind: "deployment", name: rival.app, deployment_id: rival.id };
  const app = around.apps.find(({ hostPorts }) => includesPort(hostPorts, port));
  if (app) return { kind: "app", name: app.name };
  const container = around.containers.find(({ hostPorts }) => includesPort(hostPorts, port));
  if (container) return { kind: "container", name: container.name };
  return includesPort(around.listeningPorts, port) ? { kind: "process" } : undefined;
}

function findDiskShortage({ freeBytes, reserveBytes }: HostState): Refusal | undefined {
  if (freeBytes === undefined || freeBytes >= reserveBytes) return undefined;
  return {
    code: "InsufficientDisk",
    message: `Only ${formatWholeMegabytes(freeBytes)} MB are free where images are kept; ${formatWholeMegabytes(reserveBytes)} MB are held in reserve.`,
    details: { free_bytes: freeBytes, reserve_bytes: reserveBytes },
  };
}

/** The refusal for a taken port, with what is known of its holder. */
export function portInUseRefusal({ port, protocol }: HostPort, holder: Holder | undefined): Refusal {
  const details = { host_port: port, ...(protocol === "udp" && { protocol }), ...(holder && { holder }) };
  return { code: "ErrorPortInUse", details };
}
