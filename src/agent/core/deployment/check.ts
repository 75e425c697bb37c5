import { type NamedOnNetworks, networkIssues, networkOwner, sharedName } from "../../../protocol/apps/app-network.ts";
import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { DeploymentStep } from "../../../protocol/deployments/deployment-event.ts";
import { optionIssues } from "../../../protocol/apps/option-rules.ts";
import { type ErrorCode, type ErrorDetails, errorEntry } from "../../../protocol/errors/errors.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../../protocol/limits.ts";
import { findOptionRefusal } from "./check-options.ts";
import { oldVersionName, newVersionName, containerName } from "../app/container.ts";
import { type HostPort, hostPortsOf, includesPort, toHostPort } from "../host/host-port.ts";
import type { PolicyViolation } from "../policy/policy.ts";
import { findVolumeConflict, type VolumeState } from "./check-volumes.ts";
import type { Failure } from "../records.ts";
import { formatWholeMegabytes } from "../text.ts";

/** Fewer are not enough for the files of an image. */
export const MIN_FREE_INODES = 2_000;

/** What has a host port. */
export type PortHolder =
  | { readonly kind: "app"; readonly name: string }
  | { readonly kind: "deployment"; readonly name: string; readonly deployment_id: string }
  | { readonly kind: "container"; readonly name: string }
  | { readonly kind: "process"; readonly name?: string; readonly pid?: number }
  | { readonly kind: "request" };

/** A deployment that was accepted before this one and is still pending. */
export interface ConcurrentDeployment {
  readonly id: string;
  readonly app: string;
  readonly hostPorts: readonly HostPort[];
}

/** A container on the device that does not belong to this deployment. */
export interface OtherContainer {
  readonly name: string;
  readonly hostPorts: readonly HostPort[];
  /** Name of the agent's app it belongs to; `undefined` for a foreign container. */
  readonly app: string | undefined;
  /** State directory of another agent on the device, by the labels of the container. */
  readonly otherAgent?: string | undefined;
}

/** Memory and processors of the device. */
export interface HostCapacity {
  readonly memoryBytes: number;
  readonly cpus: number;
}

interface InstalledApp {
  readonly name: string;
  readonly hostPorts: readonly HostPort[];
  /** Its names on its networks; absent where they do not matter. */
  readonly named?: NamedOnNetworks & { readonly project?: string | undefined };
}

/** The device as far as the checks depend on it. */
export interface HostState {
  readonly containers: readonly OtherContainer[];
  /** Installed apps, running or not: they start again after a reboot. */
  readonly apps: readonly InstalledApp[];
  readonly concurrentDeployments: readonly ConcurrentDeployment[];
  /** Ports on which a process listens or receives datagrams. */
  readonly listeningPorts: readonly HostPort[];
  /** Free bytes where the engine keeps images; `undefined` where that cannot be read. */
  readonly freeBytes: number | undefined;
  /** Free inodes there; `undefined` where that is not known or not limited. */
  readonly freeInodes?: number | undefined;
  readonly reserveBytes: number;
  readonly capacity: HostCapacity;
  /** Whether the engine offers GPUs; `undefined` if it was not asked. */
  readonly gpus?: boolean | undefined;
  readonly engine?: "docker" | "podman" | undefined;
  readonly volumeSubpaths?: boolean | undefined;
  /** Paths of the request that are missing or no device files. */
  readonly missingDevices: readonly string[];
  readonly policyViolation: PolicyViolation | undefined;
  readonly volumes: VolumeState;
  /** An update needs more container names than a deployment. */
  readonly action: "deploy" | "update";
  /** Whether the app is changed together with others. */
  readonly isInGroup?: boolean;
}

/** A port that is in use, and its user if that is known. */
export interface PortConflict {
  readonly port: HostPort;
  readonly holder: PortHolder | undefined;
}

/** Why a request is not carried out. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** For people. */
  readonly details?: ErrorDetails;
  /** Replaces `details`, which are built from it. */
  readonly portConflict?: PortConflict;
}

/** Makes every check that is possible before anything changes. Returns the first refusal. */
export function findRefusal(spec: AppSpec, hostState: HostState): Refusal | undefined {
  return (
    findPortOutOfRange(spec) ??
    findDuplicatePort(spec) ??
    findContradiction(spec) ??
    findNetworkRefusal(spec, hostState) ??
    findNameConflict(spec, hostState) ??
    findPolicyDenial(hostState) ??
    findExceededLimit(spec, hostState) ??
    findOptionRefusal(spec, hostState) ??
    findVolumeConflict(spec, hostState.volumes) ??
    findPortConflict(spec, hostState) ??
    findDiskShortage(hostState)
  );
}

function findPortOutOfRange(spec: AppSpec): Refusal | undefined {
  const wrong = spec.ports.find(({ host_port }) => host_port < MIN_HOST_PORT || host_port > MAX_HOST_PORT);
  return wrong && { ...refusalOf("ErrorNodePortIsNotCorrectRange"), details: { host_port: wrong.host_port } };
}

function findDuplicatePort(spec: AppSpec): Refusal | undefined {
  const ports = spec.ports.map(toHostPort);
  const twice = ports.find((port, index) => includesPort(ports.slice(0, index), port));
  return twice && portInUseRefusal({ port: twice, holder: { kind: "request" } });
}

/** A contradiction that an update brings about; of a new app it is an error of the request. */
function findContradiction(spec: AppSpec): Refusal | undefined {
  const issues = [...networkIssues(spec), ...optionIssues(spec)];
  const [first] = issues;
  if (!first) return undefined;
  return { code: "InvalidRequest", message: `${first.path}: ${first.reason}.`, details: { issues } };
}

/** Refuses what would leave an app without the network that it is to have. A group was checked as a whole. */
function findNetworkRefusal(spec: AppSpec, { apps, isInGroup }: HostState): Refusal | undefined {
  const owner = networkOwner(spec);
  if (owner === undefined || isInGroup) return undefined;
  const other = apps.find(({ name }) => name === owner);
  const follower = apps.find(({ named }) => named && networkOwner(named) === spec.name);
  const reason = networkObstacle({ owner, follower: follower?.name, of: other?.named });
  return reason === undefined
    ? undefined
    : { code: "InvalidRequest", message: `network: ${reason}.`, details: { app: owner } };
}

interface SharedNetwork {
  readonly owner: string;
  /** An app that has the network of the one that asks. */
  readonly follower?: string | undefined;
  /** The network fields of the owner; `undefined` if there is no such app. */
  readonly of: { readonly network?: string | undefined } | undefined;
}

/** Returns why an app cannot have the network of another one. */
export function networkObstacle({ owner, follower, of }: SharedNetwork): string | undefined {
  if (!of) return `there is no app ${owner} on the device`;
  if (networkOwner(of) !== undefined) return `the app ${owner} has the network of another one itself`;
  return follower === undefined ? undefined : `the app ${follower} has the network of this one`;
}

function findNameConflict(spec: AppSpec, hostState: HostState): Refusal | undefined {
  const concurrent = hostState.concurrentDeployments.find(({ app }) => app === spec.name);
  if (concurrent) {
    return {
      code: "ErrorDeploymentAlreadyExist",
      message: `A deployment of ${spec.name} is already running.`,
      details: { deployment_id: concurrent.id },
    };
  }
  const isOurs =
    hostState.apps.some(({ name }) => name === spec.name) || hostState.containers.some(({ app }) => app === spec.name);
  if (isOurs) return { code: "AppExists", message: `An app named ${spec.name} already exists on the device.` };
  return (
    findAlias(spec, hostState) ??
    findAlikeName(spec, hostState) ??
    findAppNameConflict(spec, hostState) ??
    findContainerNameConflict(spec, hostState)
  );
}

/** Of two apps that answer to one name, others would find either. Those of one project are checked by the apply. */
function findAlias(spec: AppSpec, { apps }: HostState): Refusal | undefined {
  for (const { named } of apps) {
    if (!named || (spec.project !== undefined && named.project === spec.project)) continue;
    const name = sharedName(spec, named);
    if (name === undefined) continue;
    return {
      code: "AppExists",
      message: `The host name ${name} is also one of the app ${named.name}, on the same network.`,
      details: { app: named.name, alias: name },
    };
  }
  return undefined;
}

/** Apps find each other by name, and engines answer for a name whatever its case is. */
function findAlikeName(
  { name }: AppSpec,
  { action, apps, containers, concurrentDeployments }: HostState,
): Refusal | undefined {
  if (action !== "deploy") return undefined;
  const others = [...apps.map((app) => app.name), ...containers.map(({ app }) => app)];
  const names = [...others, ...concurrentDeployments.map(({ app }) => app)];
  const alike = names.find((other) => other !== undefined && isAlike(other, name));
  return alike === undefined
    ? undefined
    : {
        code: "AppExists",
        message: `The name ${name} differs from that of the app ${alike} only in case, and apps are found by either.`,
        details: { app: alike },
      };
}

function isAlike(one: string, other: string): boolean {
  return one !== other && one.toLowerCase() === other.toLowerCase();
}

/** Considers the names of other apps too that have no container at the moment. */
function findAppNameConflict(
  { name: app }: AppSpec,
  { action, apps, concurrentDeployments }: HostState,
): Refusal | undefined {
  for (const other of [...apps.map(({ name }) => name), ...concurrentDeployments.map((concurrent) => concurrent.app)]) {
    if (other === app) continue;
    const container =
      requiredNames(app, "update").find((name) => name === containerName(other)) ??
      // A new app must not take a name that an update of another one needs.
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
  const foreign =
    taken.otherAgent === undefined
      ? "is not managed by edge-agent"
      : `belongs to another edge-agent, that with the state directory ${taken.otherAgent}`;
  const owner = taken.app === undefined ? foreign : `belongs to the app ${taken.app}`;
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

function findPortConflict(spec: AppSpec, hostState: HostState): Refusal | undefined {
  for (const port of hostPortsOf(spec)) {
    const holder = findPortHolder(port, hostState);
    if (holder) return portInUseRefusal({ port, holder });
  }
  return undefined;
}

function findPortHolder(port: HostPort, hostState: HostState): PortHolder | undefined {
  const concurrent = hostState.concurrentDeployments.find(({ hostPorts }) => includesPort(hostPorts, port));
  if (concurrent) return { kind: "deployment", name: concurrent.app, deployment_id: concurrent.id };
  const app = hostState.apps.find(({ hostPorts }) => includesPort(hostPorts, port));
  if (app) return { kind: "app", name: app.name };
  const container = hostState.containers.find(({ hostPorts }) => includesPort(hostPorts, port));
  if (container) return { kind: "container", name: container.name };
  return includesPort(hostState.listeningPorts, port) ? { kind: "process" } : undefined;
}

/** Refuses an app that asks for more than the host has: engines would find out after the download. */
function findExceededLimit(
  { cpu_limit = 0, memory_limit = 0 }: AppSpec,
  { capacity, missingDevices }: Pick<HostState, "capacity" | "missingDevices">,
): Refusal | undefined {
  const { memoryBytes, cpus } = capacity;
  if (memory_limit > memoryBytes) {
    return {
      code: "InvalidRequest",
      message: `The device has ${formatWholeMegabytes(memoryBytes)} MB of memory; memory_limit is ${formatWholeMegabytes(memory_limit)} MB.`,
      details: { memory_limit, memory_bytes: memoryBytes },
    };
  }
  if (cpu_limit > cpus) {
    const message = `The device has ${cpus} processors; cpu_limit is ${cpu_limit}.`;
    return { code: "InvalidRequest", message, details: { cpu_limit, cpus } };
  }
  return findMissingDevice(missingDevices);
}

/** Refuses an app whose devices are not there. */
export function findMissingDevice(missing: readonly string[]): Refusal | undefined {
  const [first] = missing;
  if (first === undefined) return undefined;
  return {
    code: "InvalidRequest",
    message: `There is no device file ${first} on the device.`,
    details: { devices: [...missing] },
  };
}

function findDiskShortage({ freeBytes, freeInodes, reserveBytes }: HostState): Refusal | undefined {
  if (freeInodes !== undefined && freeInodes < MIN_FREE_INODES) {
    return {
      code: "InsufficientDisk",
      message: `Only ${freeInodes} inodes are free where images are kept: no more files fit there, however many bytes are free.`,
      details: { free_inodes: freeInodes, needed_inodes: MIN_FREE_INODES },
    };
  }
  if (freeBytes === undefined || freeBytes >= reserveBytes) return undefined;
  return {
    code: "InsufficientDisk",
    message: `Only ${formatWholeMegabytes(freeBytes)} MB are free where images are kept; ${formatWholeMegabytes(reserveBytes)} MB are held in reserve.`,
    details: { free_bytes: freeBytes, reserve_bytes: reserveBytes },
  };
}

/** Returns the refusal for a port that is in use; `conflict` is `undefined` where it is not known which one. */
export function portInUseRefusal(conflict: PortConflict | undefined): Refusal {
  return { ...refusalOf("ErrorPortInUse"), ...(conflict && { portConflict: conflict }) };
}

/** Converts a refusal to the failure of a deployment. */
export function toRefusalFailure(refusal: Refusal, step: DeploymentStep): Failure {
  const { code, message, portConflict } = refusal;
  const details = portConflict ? portConflictDetails(portConflict) : refusal.details;
  return { code, message, step, ...(details && { details }) };
}

function portConflictDetails({ port: { port, protocol }, holder }: PortConflict): ErrorDetails {
  return { host_port: port, ...(protocol === "udp" && { protocol }), ...(holder && { holder }) };
}

/** A refusal with the text of the error table. */
function refusalOf(code: ErrorCode): Refusal {
  return { code, message: errorEntry(code).message };
}
