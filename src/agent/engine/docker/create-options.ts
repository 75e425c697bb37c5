import type { ContainerCreateOptions, HostConfig, MountSettings } from "dockerode";
import type { ContainerRequest, EngineInfo, HealthcheckRequest, PortRequest } from "../engine.ts";
import { containerFields, hostFields, podmanDefaults } from "./container-options.ts";
import { localReference } from "./engine-reference.ts";

/** Returns the body of the engine's create call. */
export function createOptions(
  request: ContainerRequest,
  { kind, isRootless }: Pick<EngineInfo, "kind" | "isRootless">,
): ContainerCreateOptions {
  const ports = request.hostNetwork ? [] : request.ports;
  return {
    name: request.name,
    Image: localReference(request.image),
    Labels: { ...request.labels },
    Env: [...request.environment],
    ExposedPorts: Object.fromEntries(ports.map((port) => [target(port), {}])),
    ...(request.command && { Cmd: [...request.command] }),
    ...(request.healthcheck && { Healthcheck: healthcheck(request.healthcheck) }),
    ...containerFields(request.options),
    HostConfig: {
      ...mounts(request, kind),
      PortBindings: portBindings(ports),
      RestartPolicy: restartPolicy(request),
      LogConfig: logConfig(request.logLimit, kind),
      Privileged: request.privileged,
      ...limits(request),
      ...networkMode(request),
      ...(kind === "podman" && podmanDefaults(request, isRootless)),
      ...hostFields(request.options, kind),
    },
    ...endpoint(request),
  };
}

function restartPolicy({ restartPolicy: Name, options }: ContainerRequest): HostConfig["RestartPolicy"] {
  return { Name, ...(options?.max_restarts !== undefined && { MaximumRetryCount: options.max_restarts }) };
}

function networkMode({ hostNetwork, network }: ContainerRequest): Pick<HostConfig, "NetworkMode"> {
  if (hostNetwork) return { NetworkMode: "host" };
  if (!network || network === "none") return network ? { NetworkMode: network } : {};
  return { NetworkMode: "container" in network ? `container:${network.container}` : network.name };
}

/** One at most: Docker before API 1.44 takes no more at the creation. */
function endpoint({ hostNetwork, network }: ContainerRequest): Pick<ContainerCreateOptions, "NetworkingConfig"> {
  if (hostNetwork || !network || network === "none" || "container" in network) return {};
  return { NetworkingConfig: { EndpointsConfig: { [network.name]: { Aliases: [...network.aliases] } } } };
}

interface PortBinding {
  readonly HostPort: string;
  readonly HostIp?: string;
}

/** Without a host address, the engine publishes a port on all IPv4 and IPv6 addresses. */
function portBindings(ports: ContainerRequest["ports"]): Record<string, PortBinding[]> {
  const bindings: Record<string, PortBinding[]> = {};
  for (const port of ports) {
    const { hostAddress, hostPort } = port;
    const binding = { HostPort: String(hostPort), ...(hostAddress !== undefined && { HostIp: hostAddress }) };
    (bindings[target(port)] ??= []).push(binding);
  }
  return bindings;
}

function target({ targetPort, protocol = "tcp" }: PortRequest): string {
  return `${targetPort}/${protocol}`;
}

const NANOSECONDS = 1_000_000_000;

/** Returns the container's resource limits and devices. */
function limits({
  cpuLimit,
  memoryLimit,
  devices,
}: ContainerRequest): Pick<HostConfig, "NanoCpus" | "Memory" | "Devices"> {
  return {
    ...(cpuLimit !== undefined && { NanoCpus: Math.round(cpuLimit * NANOSECONDS) }),
    ...(memoryLimit !== undefined && { Memory: memoryLimit }),
    ...(devices && {
      Devices: devices.map(({ local, target, permissions }) => ({
        PathOnHost: local,
        PathInContainer: target,
        CgroupPermissions: permissions,
      })),
    }),
  };
}

function healthcheck(check: HealthcheckRequest): ContainerCreateOptions["Healthcheck"] {
  return {
    Test: ["CMD", ...check.command],
    Interval: nanoseconds(check.intervalS),
    Timeout: nanoseconds(check.timeoutS),
    Retries: check.retries,
    StartPeriod: nanoseconds(check.startPeriodS),
  };
}

function nanoseconds(seconds: number): number {
  return Math.round(seconds * NANOSECONDS);
}

/** Files are mounts in every engine: their place may have any character. */
function mounts(request: ContainerRequest, kind: EngineInfo["kind"]): Pick<HostConfig, "Binds" | "Mounts"> {
  const { files = [] } = request;
  const { Binds = [], Mounts = [] } = volumes(request, kind);
  return { Binds, Mounts: [...Mounts, ...files.map(toFileMount)] };
}

function toFileMount({ source, target }: NonNullable<ContainerRequest["files"]>[number]): MountSettings {
  return { Type: "bind", Source: source, Target: target, ReadOnly: true };
}

/**
 * With Docker, a mount is refused if its path on the device does not exist; a bind makes a directory of root's
 * there. Podman makes one for both; a bind keeps the order, but cannot contain a colon. In both forms
 * an engine takes a source without a slash for the name of a volume.
 */
function volumes(
  { volumes: paths, namedVolumes = [] }: Pick<ContainerRequest, "volumes" | "namedVolumes">,
  kind: EngineInfo["kind"],
): Pick<HostConfig, "Binds" | "Mounts"> {
  const all: Mount[] = [
    ...paths.map(({ local, target, readonly }) => ({ type: "bind" as const, source: local, target, readonly })),
    ...namedVolumes.map(({ name, ...mount }) => ({ type: "volume" as const, source: name, ...mount })),
  ];
  const isBind = (mount: Mount): boolean => kind === "podman" && !hasColon(mount);
  const binds = all.filter(isBind);
  const mounts = all.filter((mount) => !isBind(mount));
  return {
    Binds: binds.map(({ type, source, target, readonly, nocopy }) => {
      // Podman's own for a volume are `nosuid,nodev`.
      const own = type === "volume" ? ["suid", "dev", ...(nocopy ? ["nocopy"] : [])] : [];
      const options = [...(readonly ? ["ro"] : []), ...own];
      return [source, target, ...(options.length > 0 ? [options.join(",")] : [])].join(":");
    }),
    Mounts: mounts.map((mount) => toMount(mount, kind)),
  };
}

type EngineMount = NonNullable<HostConfig["Mounts"]>[number];

function toMount(asked: Mount, kind: EngineInfo["kind"]): EngineMount {
  const { type, source, target, readonly, nocopy, isExternal, subpath } = asked;
  const mount = { Type: type, Source: source, Target: target, ReadOnly: readonly };
  // The propagation is the engine's choice, as with compose: Docker takes no private one of what contains its own data.
  if (type === "bind" || kind === "podman") return mount;
  // One of the agent's was filled when it was made. Docker would fill an empty one with each new container, and change its owner.
  const options = {
    ...((nocopy || !isExternal) && { NoCopy: true }),
    ...(subpath !== undefined && { Subpath: subpath }),
  };
  if (Object.keys(options).length === 0) return mount;
  // The library's type asks for fields that engines take as optional.
  return { ...mount, VolumeOptions: options as NonNullable<EngineMount["VolumeOptions"]> };
}

interface Mount {
  readonly type: "bind" | "volume";
  readonly source: string;
  readonly target: string;
  readonly readonly: boolean;
  readonly nocopy?: boolean;
  readonly isExternal?: true;
  readonly subpath?: string;
}

function hasColon({ source, target }: Mount): boolean {
  return source.includes(":") || target.includes(":");
}

function logConfig(limit: ContainerRequest["logLimit"], kind: EngineInfo["kind"]): HostConfig["LogConfig"] {
  if (kind === "docker") {
    const Config = { "max-size": String(limit.maxBytes), "max-file": String(limit.maxFiles) };
    return { Type: "json-file", Config };
  }
  // Podman keeps a single file and truncates it when it is full: allow the size of all of Docker's files.
  return { Type: "k8s-file", Config: { "max-size": String(limit.maxBytes * limit.maxFiles) } };
}
